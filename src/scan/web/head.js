// The panel of one head: what it does and by which numbers, its drawings, every statistic with its meaning.
"use strict";

function draw_verdict(place, head) {
  if (!head.labels.length) place.append(element("p", { class: "note" }, "No rule describes this head."));
  for (const label of head.labels) {
    const rule = rules_by_label.get(label.name);
    const evidence = rule && `${rule.quantity}: ${show(label.value)}; the rule: ${rule.at_least ? "≥" : "≤"} ${show(rule.threshold)}`;
    place.append(element("div", { class: "verdict" }, element("strong", {}, in_words(label.name)),
      element("span", {}, rule ? rule.meaning : ""), element("span", { class: "note" }, [evidence, label.detail].filter(Boolean).join(" · "))));
  }
}

function draw_nearest(place, head) {
  const name = head.nearest.join("."), similarity = term_named("nearest_similarity");
  place.append(element("p", {}, "Most like ", element("a", { href: head_address(name) }, `head ${name}`),
    `, similarity ${show(value_at(head, similarity)[0])}.`));
}

function draw_statistics(place, head) {
  const list = element("dl", { class: "statistics" });
  for (const term of scan.terms) {
    const value = value_at(head, term), meaning = element("dd", { class: "note" });
    const keys = term.unit === "nats" && term.name.startsWith("entropy") && value[0] !== null ? ` (${show(Math.exp(value[0]))} keys)` : "";
    formulas.set(d3.select(meaning), term.meaning, true);
    list.append(element("dt", {}, term.title), element("dd", { class: "value" }, `${show_spread(value)} ${term.unit}${keys}`), meaning);
  }
  place.append(list);
}

// What there is to draw of a head, in order.
function parts_of_head(head) {
  const about = head.in_full ? "" : "In short: this page keeps 64 heads in full.";
  return [
    ["Entropy along the text", draw_entropy_along, true, about],
    ["Weight by distance", draw_profile, head.profile.length, "Each bar reaches up to the next one's distance."],
    ["Weight of keys, over the rows that see them", draw_keys, head.in_full && (head.strip.length || head.keys.length)],
    ["Weights, averaged in blocks", draw_matrix, head.in_full && head.blocks.length, "Of sampled rows; a row of blocks without any is empty."],
    ["Entropy by length", draw_head_lengths, head.lengths.length > 1],
    ["What if", draw_head_alternatives, scan.alternatives.length],
    ["Nearest head", draw_nearest, head.nearest],
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
