// The data of the page, and helpers that every view uses.
"use strict";

// A comparison has its second result as `against`; `scan` itself describes the first.
const scan = JSON.parse(document.getElementById("scan").textContent), against = scan.against || null;
const results = against ? [scan, against] : [scan];
// Unpacks scan/packed_weights.hpp; null for values that were not measured.
function unpack_numbers(text) {
  const bytes = atob(text);
  return d3.range(0, bytes.length, 2).map((i) => bytes.charCodeAt(i) + 256 * bytes.charCodeAt(i + 1)).map((q) => (q === 65535 ? null : (q / 65534) ** 2));
}
for (const result of results) {
  for (const head of result.heads) {
    head.from = result;
    head.profile = unpack_numbers(head.profile);
    if (head.in_full) head.strip = unpack_numbers(head.strip);
    if (head.patches) head.patches = unpack_numbers(head.patches);
  }
}
if (against) scan.heads.forEach((head, i) => { head.other = against.heads[i]; });
const versions = (head) => (head.other ? [head, head.other] : [head]);
const result_name = (result) => (against ? scan.names[results.indexOf(result)] : "");


const show_spread = ([mean, deviation]) => show(mean) + (deviation ? ` ± ${show(deviation)}` : "");
const head_name = (head) => `${head.layer}.${head.head}`;
const head_address = (name) => `#head=${name}`;
const heads_by_name = new Map(scan.heads.map((head) => [head_name(head), head]));
const rules_by_label = new Map(scan.rules.map((rule) => [rule.label, rule]));
const value_at = (head, term) => head.values[scan.terms.indexOf(term)];
const term_named = (name) => scan.terms.find((term) => term.name === name);
// Second minus first; null if either was not measured.
function difference(head, term) {
  const [a, b] = versions(head).map((version) => value_at(version, term)[0]);
  return a === null || b === null ? null : b - a;
}
const layer_of = (head) => head.from.layers[head.layer] || { module: "", kind: "", window: null, rows: 0, keys: 0, row_text: null, key_text: null };
// The words at the rows and keys of a head: an encoder-decoder has two texts. Null if they are not tokens.
const text_of_rows = (head) => head.from.tokens[layer_of(head).row_text] || null;
const text_of_keys = (head) => head.from.tokens[layer_of(head).key_text] || null;
const is_special = (text, position) => text !== null && text.special.includes(position);
// Their name: "the text that it writes", "the patches".
function sequence_name({ from }, text) {
  const { read, written } = from.tokens;
  if (text === null) return from.picture ? "the patches" : "the positions";
  if (!written.count) return "the text";
  return text === read ? "the text that it reads" : "the text that it writes";
}
// The meaning of a label, for a head that has it, had it, or has it now.
const meaning_when = (meaning, change) => (change && meaning ? `${{ lost: "Before", gained: "Now" }[change]}: ${meaning[0].toLowerCase()}${meaning.slice(1)}` : meaning);
const NO_LABEL = "none";
const gained = (head) => head.other.labels.filter((label) => !has_label(head, label.name));
const lost = (head) => head.labels.filter((label) => !has_label(head.other, label.name));
const has_label = (head, label) => (label === NO_LABEL ? !head.labels.length : head.labels.some((given) => given.name === label));

// The text of a token in a box; invisible characters are shown by symbols.
function token_box(token, looks_special = false) {
  const seen = token.replaceAll("\n", "↵").replaceAll("\t", "⇥").replaceAll(" ", "·");
  return element("span", looks_special ? { class: "token special", title: "a special token" } : { class: "token" }, seen === "" ? "∅" : seen);
}

// Rows of weights.
function unpack({ columns, weights }) {
  const out = unpack_numbers(weights);
  return d3.range(0, out.length, columns || 1).map((begin) => out.slice(begin, begin + columns));
}
