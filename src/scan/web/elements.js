// The data of the page, and what every view of it uses. Text enters by textContent alone.
"use strict";

const scan = JSON.parse(document.getElementById("scan").textContent);
const NOT_MEASURED = "–";

// element("p", { class: "note" }, "text", another_element)
function element(tag, attributes = {}, ...children) {
  const out = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) out.setAttribute(name, value);
  out.append(...children.filter((child) => child !== null && child !== undefined));
  return out;
}

// Three digits are what these numbers are worth.
function show(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return NOT_MEASURED;
  if (x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e6)) return x.toExponential(1);
  return Math.abs(x) >= 1000 ? String(Math.round(x)) : String(+x.toPrecision(3));
}
const show_spread = ([mean, deviation]) => show(mean) + (deviation ? ` ± ${show(deviation)}` : "");
const in_words = (label) => label.replaceAll("_", " ");

const head_name = (head) => `${head.layer}.${head.head}`;
const head_address = (name) => `#head=${name}`;
const heads_by_name = new Map(scan.heads.map((head) => [head_name(head), head]));
const rules_by_label = new Map(scan.rules.map((rule) => [rule.label, rule]));
const value_at = (head, term) => head.values[scan.terms.indexOf(term)];
const term_named = (name) => scan.terms.find((term) => term.name === name);
const layer_of = (head) => scan.layers[head.layer] || { module: "", kind: "", window: null };
const NO_LABEL = "none";
const has_label = (head, label) => (label === NO_LABEL ? !head.labels.length : head.labels.some((given) => given.name === label));

// The text of a token in a box of its own; what cannot be seen is written.
function token_box(token) {
  const seen = token.replaceAll("\n", "↵").replaceAll("\t", "⇥").replaceAll(" ", "·");
  return element("span", { class: "token" }, seen === "" ? "∅" : seen);
}
