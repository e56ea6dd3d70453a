// The sections below the map: lengths, layers, all heads, the rules, and the meaning of the numbers.
"use strict";

const mean_of = (values) => { const known = values.filter((x) => x !== null && x !== undefined); return known.length ? d3.mean(known) : null; };
const heads_of = (result, layer) => result.heads.filter((head) => head.layer === layer);
const lengths_of = (result) => result.lengths.map(({ length }) => length);
const length_axes = () => ({ x_label: "tokens", y_label: "nats", x_scale: "log", y_scale: "linear", y_span: 0.1,
  x_ticks: [...new Set(results.flatMap(lengths_of))].sort((a, b) => a - b) });

const layer_entropies = (result) => result.layers.map((_, l) => result.lengths.map((_, i) => mean_of(heads_of(result, l).map((head) => head.lengths[i]))));

// One curve per layer, dashed for the second result. With too many to distinguish: one row of a map per layer or, in a
// comparison, the mean over all heads.
function draw_layer_entropies(place, room) {
  const title = "Entropy, mean of a layer's heads", axes = length_axes();
  if (scan.layers.length <= 8) {
    const curves = results.flatMap((result, r) => layer_entropies(result).map((y, l) => ({ label: r ? "" : `layer ${l}`, style: "measured", colour: l + 8 * r, x: lengths_of(result), y })));
    draw_plot(place, { ...axes, title: against ? `${title}; dashed: ${scan.names[1]}` : title, curves }, room);
  } else if (against) {
    draw_plot(place, { ...axes, title: "Entropy, mean of all heads", curves: results.map((result, colour) => ({ label: result_name(result), style: "measured", colour,
      x: lengths_of(result), y: result.lengths.map((_, i) => mean_of(result.heads.map((head) => head.lengths[i]))) })) }, room);
  } else {
    const rows = layer_entropies(scan), [low, high] = d3.extent(rows.flat().filter((x) => x !== null));
    draw_heat_map(place, { title: `${title}, nats`, rows, low, high, x_label: "tokens", y_label: "layer", row_names: [], column_names: lengths_of(scan).map(String) }, room);
  }
}

function draw_lengths(place, room) {
  if (!results.some((result) => result.lengths.length > 1)) return;
  place.append(element("h2", {}, "Longer texts"));
  const row = element("div", { class: "row" }), columns = room >= 700 ? 2 : 1, width = (room - 32 * (columns - 1)) / columns;
  row.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
  place.append(row);
  draw_plot(d3.select(row).append("div"), { ...length_axes(), title: "Loss of the same last tokens",
    curves: results.map((result, colour) => ({ label: result_name(result), style: "measured", colour, x: lengths_of(result), y: result.lengths.map((length) => length.loss) })) }, width);
  draw_layer_entropies(d3.select(row).append("div"), width);
}

// In a comparison, a number of both is shown as "first → second".
const of_both = (value) => results.map(value).filter((x, i, all) => i === 0 || x !== all[0]).join("\u00a0→\u00a0");

function draw_layers(place) {
  const slope = term_named("entropy_slope"), entropy = term_named("entropy");
  const mean_value = (l, term) => of_both((result) => show(mean_of(heads_of(result, l).map((head) => value_at(head, term)[0]))));
  const columns = [["layer", String], ["module", (l) => scan.layers[l].module], ["kind", (l) => scan.layers[l].kind],
    ["heads", (l) => String(scan.layers[l].heads)], ["head width", (l) => of_both(({ layers }) => String(layers[l].head_width))],
    ["window", (l) => of_both(({ layers }) => show(layers[l].window))], ["redundancy", (l) => of_both(({ layers }) => show(layers[l].redundancy))],
    ["residual ratio", (l) => of_both(({ layers }) => show(layers[l].residual_ratio))]];
  if (entropy) columns.push(["entropy", (l) => mean_value(l, entropy)]);
  if (slope) columns.push(["growth of entropy", (l) => mean_value(l, slope)]);
  place.append(element("h2", {}, "Layers"));
  draw_table(d3.select(place), { columns: columns.map(([name]) => name), rows: scan.layers.map((_, l) => columns.map(([, cell]) => cell(l))) });
}

// For a comparison: the differences, or the numbers of one of the two.
function draw_heads(place) {
  place.classList.add("heads");
  const box = element("div"), titles = scan.terms.map((term) => term.title);
  const draw_it = (view) => {
    const labels = against && view === DIFFERENCE ? [["lost", lost], ["gained", gained]] : [["labels", (head) => versions(head)[view].labels]];
    const value = (head, term) => (view === DIFFERENCE ? show_signed(difference(head, term)).replace("−", "-") : show(value_at(versions(head)[view], term)[0]));
    box.replaceChildren();
    draw_table(d3.select(box), { columns: ["head", ...labels.map(([name]) => name), ...titles], address: head_address,
      rows: scan.heads.map((head) => [head_name(head), ...labels.map(([, of]) => names_of(of(head))), ...scan.terms.map((term) => value(head, term))]) });
  };
  place.append(element("h2", {}, "Heads"));
  if (against) place.append(element("div", { class: "choices" }, view_choice("table-view", DIFFERENCE, draw_it)));
  place.append(box);
  draw_it(against ? DIFFERENCE : 0);
}

function draw_rules(place) {
  const count = (result, rule) => result.heads.filter((head) => has_label(head, rule.label)).length;
  const chance = ({ shuffled }) => (shuffled === null ? NOT_MEASURED : `${show(100 * shuffled)}%`);
  place.classList.add("rules");
  place.append(element("h2", {}, "Rules"), element("p", {}, "A label says that one number of a head passes a threshold. " +
    "The thresholds are ours: round numbers, the same for every model. Shuffled keys tell how many heads would get a label by chance."));
  draw_table(d3.select(place), { columns: ["label", "number", "threshold", "heads", "shuffled keys", "meaning"],
    rows: scan.rules.map((rule) => [in_words(rule.label), rule.quantity, `${rule.at_least ? "≥" : "≤"} ${rule.threshold}`, of_both((result) => String(count(result, rule))),
      of_both(({ rules }) => chance(rules.find(({ label }) => label === rule.label))), rule.meaning]) });
}

function draw_meanings(place) {
  const unit = (term) => (term.unit ? ` (${term.unit})` : "");
  draw_glossary(d3.select(place), { heading: "What the numbers mean", entries: [
    ...scan.terms.map((term) => ({ label: term.title + unit(term), text: term.meaning })),
    ...scan.definitions.map(([label, text]) => ({ label, text }))] });
}
