// The panel of one head: what it does and which numbers show it, its drawings, every statistic with its meaning.
"use strict";

function verdict_of(label, change, values) {
  const rule = rules_by_label.get(label.name);
  const evidence = rule && `${rule.quantity}: ${values}; the rule: ${rule.at_least ? "≥" : "≤"} ${show(rule.threshold)}`;
  return element("div", { class: `verdict ${change}` }, element("strong", {}, change ? `${change}: ${in_words(label.name)}` : in_words(label.name)),
    element("span", {}, rule ? meaning_when(rule.meaning, change) : ""), element("span", { class: "note" }, [evidence, label.detail].filter(Boolean).join(" · ")));
}

// In a comparison, lost and gained labels come first.
function draw_verdict(place, head) {
  const before = (label) => (head.other && head.other.labels.find((other) => other.name === label.name));
  if (!versions(head).some((version) => version.labels.length)) place.append(element("p", { class: "note" }, "No rule describes this head."));
  for (const label of head.other ? lost(head) : []) place.append(verdict_of(label, "lost", show(label.value)));
  for (const label of head.other ? gained(head) : []) place.append(verdict_of(label, "gained", show(label.value)));
  for (const label of head.labels.filter((label) => !head.other || before(label)))
    place.append(verdict_of(label, "", [label, before(label)].filter(Boolean).map((given) => show(given.value)).join(" → ")));
}

function draw_nearest(place, head) {
  const similarity = term_named("nearest_similarity");
  for (const version of versions(head)) {
    if (!version.nearest) continue;
    const name = version.nearest.join(".");
    place.append(element("p", {}, against ? `${result_name(version.from)}: most like ` : "Most like ", element("a", { href: head_address(name) }, `head ${name}`),
      `, similarity ${show(value_at(version, similarity)[0])}.`));
  }
}

function draw_statistics(place, head) {
  const list = element("dl", { class: "statistics" });
  for (const term of scan.terms) {
    const values = versions(head).map((version) => value_at(version, term)), meaning = element("dd", { class: "note" });
    const counts_keys = term.unit === "nats" && term.name.startsWith("entropy") && values.every(([mean]) => mean !== null);
    const keys = counts_keys ? ` (${values.map(([mean]) => show(Math.exp(mean))).join(" → ")} keys)` : "";
    formulas.set(d3.select(meaning), term.meaning, true);
    const change = against ? element("strong", {}, ` ${show_signed(difference(head, term))}`) : null;
    list.append(element("dt", {}, term.title), element("dd", { class: "value" }, `${values.map(show_spread).join(" → ")} ${term.unit}${keys}`, change), meaning);
  }
  place.append(list);
}

// The drawings of a head, in order.
function parts_of_head(head) {
  const about = head.in_full ? "" : "In short: this page keeps 64 heads in full.";
  return [
    [`Entropy along ${sequence_name(head, text_of_rows(head))}`, draw_entropy_along, true, about],
    ["Weight by distance", draw_profile, versions(head).some(({ profile }) => profile.length), layer_of(head).kind === "cross" ? "Between positions of the two texts. Each bar reaches up to the next one's distance." : "Each bar reaches up to the next one's distance."],
    ["Weight of the picture's patches", draw_patches, versions(head).some(({ patches }) => patches), "Mean over the rows; the more a patch gets, the more of it shows."],
    ["Weight of keys, over the rows that see them", draw_keys, head.in_full && versions(head).some(({ strip, keys }) => strip.length || keys.length)],
    ["Weights, averaged in blocks", draw_matrix, head.in_full && versions(head).some(({ blocks }) => blocks.columns), "Of sampled rows; a row of blocks without any is empty."],
    ["Weights one by one, at the end of the window", draw_tile, head.in_full && versions(head).some(({ tile }) => tile.columns), "The exact weights of the last rows over the last keys. Point at a cell, or focus the map and use the arrow keys, to read them."],
    ["The heaviest keys of single rows", draw_rows, head.in_full && versions(head).some(({ rows }) => rows.length), "Exact weights; a row opens with a click or Enter."],
    ["Entropy by length", draw_head_lengths, versions(head).some(({ lengths }) => lengths.length > 1)],
    ["What if", draw_head_alternatives, scan.alternatives.length],
    ["Nearest head", draw_nearest, versions(head).some(({ nearest }) => nearest)],
    ["Every statistic, mean over the rows", draw_statistics, true],
  ].filter((part) => part[2]);
}

function draw_head(panel, head, close, open) {
  const index = scan.heads.indexOf(head), layer = layer_of(head);
  const step = (by, text, label) => {
    const other = scan.heads[index + by], button = element("button", { "aria-label": label }, text);
    button.disabled = !other;
    button.addEventListener("click", () => open(other));
    return button;
  };
  const closing = element("button", { "aria-label": "close", class: "close" }, "✕");
  closing.addEventListener("click", close);
  panel.replaceChildren(element("div", { class: "panel-head" }, element("h2", {}, `Head ${head_name(head)}`),
    step(-1, "‹", "previous head"), step(1, "›", "next head"), closing),
  element("p", { class: "note" }, [layer.module, layer.kind, layer.window === null ? "no window" : `window of ${layer.window} keys`].filter(Boolean).join(" · ")));
  panel.setAttribute("aria-label", `Head ${head_name(head)}`);
  draw_verdict(panel, head);
  const room = panel.clientWidth - 40;
  for (const [title, draw_part, , about] of parts_of_head(head)) {
    const section = element("section", {}, element("h3", {}, title), about ? element("p", { class: "note" }, about) : null);
    panel.append(section);
    draw_part(section, head, room);
  }
}
