// What if: the model with another scale, map or mask, next to the unchanged model; the same for one head.
"use strict";

const AS_IT_IS = "as it is";
const alternative_name = (one) => `${one.kind} ${one.text}`;
const perplexity_of = (loss) => (loss === null || loss === undefined ? NOT_MEASURED : Math.exp(loss).toFixed(2));
const last_of = (list) => (list.length ? list[list.length - 1] : null);
const number_of_head = (one, name, head) => (one.heads[name].length ? one.heads[name][head.layer][head.head] : null);
const mean_of_heads = (one, name) => mean_of(one.heads[name].flat());

// [heading, cell of an alternative, cell of the unchanged model]; columns with no alternative's values are omitted.
function alternative_columns() {
  const entropy = term_named("entropy"), heads_entropy = entropy ? mean_of(scan.heads.map((head) => value_at(head, entropy)[0])) : null;
  const columns = [["change", alternative_name, AS_IT_IS], ["loss", (one) => show_loss(one.loss), show_loss(scan.loss)],
    ["perplexity", (one) => perplexity_of(one.loss), perplexity_of(scan.loss)], ["entropy", (one) => show(one.entropy), show(heads_entropy)]];
  const last = last_of(scan.lengths);
  if (last) {
    columns.push([`perplexity at ${last.length}`, (one) => perplexity_of(last_of(one.losses)), perplexity_of(last.loss)],
      [`entropy at ${last.length}`, (one) => show(last_of(one.entropies)), show(mean_of(scan.heads.map((head) => last_of(head.lengths))))]);
  }
  for (const [title, name] of [["missing mass", "missing_mass"], ["error of a head's output", "error"], ["bound on the error", "error_bound"]])
    columns.push([title, (one) => show(mean_of_heads(one, name)), ""]);
  return columns.filter(([, cell]) => scan.alternatives.some((one) => cell(one) !== NOT_MEASURED));
}
const show_loss = (loss) => (loss === null || loss === undefined ? NOT_MEASURED : loss.toFixed(4));

function draw_alternative_curves(place, room) {
  const lengths = scan.lengths.map((length) => length.length);
  const axes = { x_label: "tokens", y_label: "nats", x_scale: "log", y_scale: "linear", x_ticks: lengths, y_span: 0.1 };
  const own_entropies = lengths.map((_, i) => mean_of(scan.heads.map((head) => head.lengths[i])));
  const curves = (own, name) => [{ label: AS_IT_IS, style: "measured", colour: 0, x: lengths, y: own },
    ...scan.alternatives.map((one, i) => ({ label: alternative_name(one), style: "measured", colour: i + 1, x: lengths, y: one[name] }))]
    .filter((curve) => curve.y.every((value) => value !== null));
  const columns = room >= 700 ? 2 : 1, width = (room - 32 * (columns - 1)) / columns, row = element("div", { class: "row" });
  row.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
  place.append(row);
  for (const [title, own, name] of [["Loss of the same last tokens", scan.lengths.map((length) => length.loss), "losses"], ["Entropy, mean of the heads", own_entropies, "entropies"]]) {
    const drawn = curves(own, name);
    if (drawn.length) draw_plot(d3.select(row).append("div"), { ...axes, title, curves: drawn }, width);
  }
}

// A map of layers x heads for each alternative that has these numbers.
function draw_alternative_maps(place, room, name, heading, range) {
  const some = scan.alternatives.filter((one) => one.heads[name].length);
  if (!some.length) return;
  const columns = room >= 900 ? 3 : room >= 600 ? 2 : 1, width = (room - 32 * (columns - 1)) / columns, row = element("div", { class: "row" });
  row.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
  place.append(row);
  for (const one of some) {
    const [low, high] = range || d3.extent(one.heads[name].flat().filter((x) => x !== null));
    draw_heat_map(d3.select(row).append("div"), { title: `${heading(one)}: ${one.text}`, rows: one.heads[name], low, high, x_label: "head", y_label: "layer",
      row_names: [], column_names: [] }, width);
  }
}

function draw_alternatives(place, room) {
  if (!scan.alternatives.length) return;
  const columns = alternative_columns();
  place.append(element("h2", {}, "What if"), element("p", {}, "The same model over the same text, changed in one thing. " +
    "What is left out is measured on the model as it is, head by head; perplexity and entropy with the change in every layer."));
  draw_table(d3.select(place), { columns: columns.map(([title]) => title),
    rows: [columns.map(([, , own]) => own), ...scan.alternatives.map((one) => columns.map(([, cell]) => cell(one)))] });
  if (scan.lengths.length > 1) draw_alternative_curves(place, room);
  draw_alternative_maps(place, room, "missing_mass", () => "Missing mass", [0, 1]);
  draw_alternative_maps(place, room, "parameter", (one) => `Solved ${one.parameter}`, null);
}

// The part of a head's panel: one line per alternative.
function draw_head_alternatives(place, head) {
  const names = [["entropy", "entropy"], ["missing mass", "missing_mass"], ["error", "error"], ["bound", "error_bound"], ["solved parameter", "parameter"],
    ["target entropy", "target"]].filter(([, name]) => scan.alternatives.some((one) => number_of_head(one, name, head) !== null));
  draw_table(d3.select(place), { columns: ["change", ...names.map(([title]) => title)],
    rows: scan.alternatives.map((one) => [alternative_name(one), ...names.map(([, name]) => show(number_of_head(one, name, head)))]) });
}
