// What stands below the map: lengths, layers, all heads, the rules, and what the numbers mean.
"use strict";

const mean_of = (values) => { const known = values.filter((x) => x !== null && x !== undefined); return known.length ? d3.mean(known) : null; };
const heads_of = (layer) => scan.heads.filter((head) => head.layer === layer);

// A curve for each layer, or a row of a map where there are too many to tell apart.
function draw_layer_entropies(place, lengths, axes, room) {
  const title = "Entropy, mean of a layer's heads", rows = scan.layers.map((_, l) => lengths.map((_, i) => mean_of(heads_of(l).map((head) => head.lengths[i]))));
  if (rows.length <= 8) {
    draw_plot(place, { ...axes, title, curves: rows.map((y, l) => ({ label: `layer ${l}`, style: "measured", colour: l, x: lengths, y })) }, room);
    return;
  }
  const [low, high] = d3.extent(rows.flat().filter((x) => x !== null));
  draw_heat_map(place, { title: `${title}, nats`, rows, low, high, x_label: "tokens", y_label: "layer", row_names: [], column_names: lengths.map(String) }, room);
}

function draw_lengths(place, room) {
  if (scan.lengths.length < 2) return;
  const lengths = scan.lengths.map((length) => length.length);
  const axes = { x_label: "tokens", y_label: "nats", x_scale: "log", y_scale: "linear", x_ticks: lengths, y_span: 0.1 };
  place.append(element("h2", {}, "Longer texts"));
  const row = element("div", { class: "row" }), columns = room >= 700 ? 2 : 1, width = (room - 32 * (columns - 1)) / columns;
  row.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
  place.append(row);
  draw_plot(d3.select(row).append("div"), { ...axes, title: "Loss of the same last tokens",
    curves: [{ label: "", style: "measured", colour: 0, x: lengths, y: scan.lengths.map((length) => length.loss) }] }, width);
  draw_layer_entropies(d3.select(row).append("div"), lengths, axes, width);
}

function draw_layers(place) {
  const slope = term_named("entropy_slope"), entropy = term_named("entropy");
  const mean_value = (l, term) => show(mean_of(heads_of(l).map((head) => value_at(head, term)[0])));
  const columns = [["layer", (_, l) => String(l)], ["module", (layer) => layer.module], ["kind", (layer) => layer.kind],
    ["heads", (layer) => String(layer.heads)], ["head width", (layer) => String(layer.head_width)],
    ["window", (layer) => show(layer.window)], ["redundancy", (layer) => show(layer.redundancy)],
    ["residual ratio", (layer) => show(layer.residual_ratio)]];
  if (entropy) columns.push(["entropy", (_, l) => mean_value(l, entropy)]);
  if (slope) columns.push(["growth of entropy", (_, l) => mean_value(l, slope)]);
  place.append(element("h2", {}, "Layers"));
  draw_table(d3.select(place), { columns: columns.map(([name]) => name),
    rows: scan.layers.map((layer, l) => columns.map(([, cell]) => cell(layer, l))) });
}

function draw_heads(place) {
  place.classList.add("heads");
  place.append(element("h2", {}, "Heads"));
  draw_table(d3.select(place), { columns: ["head", "labels", ...scan.terms.map((term) => term.title)], address: head_address,
    rows: scan.heads.map((head) => [head_name(head), head.labels.map((label) => in_words(label.name)).join(", "),
      ...head.values.map(([mean]) => show(mean))]) });
}

function draw_rules(place) {
  const count = (rule) => scan.heads.filter((head) => has_label(head, rule.label)).length;
  place.append(element("h2", {}, "Rules"), element("p", {}, "A label says that one number of a head passes a threshold. " +
    "The thresholds are ours: round numbers, the same for every model. Shuffled keys tell how many heads would get a label by chance."));
  draw_table(d3.select(place), { columns: ["label", "number", "threshold", "heads", "shuffled keys", "meaning"],
    rows: scan.rules.map((rule) => [in_words(rule.label), rule.quantity, `${rule.at_least ? "≥" : "≤"} ${rule.threshold}`, String(count(rule)),
      rule.shuffled === null ? NOT_MEASURED : `${show(100 * rule.shuffled)}%`, rule.meaning]) });
}

function draw_meanings(place) {
  const unit = (term) => (term.unit ? ` (${term.unit})` : "");
  draw_glossary(d3.select(place), { heading: "What the numbers mean", entries: [
    ...scan.terms.map((term) => ({ label: term.title + unit(term), text: term.meaning })),
    ...scan.definitions.map(([label, text]) => ({ label, text }))] });
}
