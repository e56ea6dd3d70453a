// The drawings of one head: entropy along its rows, weight by distance, heavy keys, matrix, entropy by length.
"use strict";

// The positions, [begin, end), that point i of m covers in a row of n.
function stretch(i, m, n) {
  return [Math.ceil((i * n) / m), Math.max(Math.ceil((i * n) / m) + 1, Math.ceil(((i + 1) * n) / m))];
}
const stretch_name = (i, m, n) => { const [begin, end] = stretch(i, m, n); return end - begin > 1 ? `${begin}–${end - 1}` : String(begin); };

// Boxes of the first tokens from `begin` on that the page contains.
function token_boxes(text, begin, end) {
  if (text === null) return [];
  const { count, stretches } = text, tokens = stretches[Math.floor((begin * stretches.length) / count)] || [];
  return tokens.slice(0, end - begin).map((token, i) => token_box(token, is_special(text, begin + i)));
}

// The keys that a row sees, [begin, end), as in scan/measurement.hpp.
function visible_keys({ kind, window }, position, keys) {
  const width = window === null ? Infinity : window;
  if (kind === "cross") return [0, keys];
  return [Math.max(0, position - width + 1), Math.min(keys, kind === "decoder" ? position + 1 : position + width)];
}
function keys_seen(head, position) {
  const [begin, end] = visible_keys(layer_of(head), position, layer_of(head).keys);
  return end - begin;
}

// The colours of the results in a comparison.
function legend_of_results(place) {
  if (against) place.append(...results.map((result, i) => {
    const mark = element("i", { class: "measured" });
    mark.style.borderColor = colour(i);
    return element("span", {}, mark, result_name(result));
  }));
}

function draw_entropy_along(place, head, room) {
  const drawn = versions(head).filter(({ curve }) => curve.length);
  if (!drawn.length) { place.append(element("p", { class: "note" }, "Not measured.")); return; }
  // The curves of two results may belong to texts of different lengths; positions and text are those of the longer one.
  const rows = (version) => layer_of(version).rows, longest = drawn[d3.scan(drawn, (a, b) => rows(b) - rows(a))], text = text_of_rows(longest);
  const m = longest.curve.length, end = stretch(m - 1, m, rows(longest))[1], middle = (version, i) => d3.mean(stretch(i, version.curve.length, rows(version))) - 0.5;
  const bounds = d3.range(m).map((i) => keys_seen(longest, middle(longest, i))).map((k) => (k < 1 ? null : Math.log(k)));
  const box = frame(place, `entropy along ${sequence_name(longest, text)}`, room, 180, [0, end], d3.max([...drawn.flatMap(({ curve }) => curve), ...bounds]), "nats");
  position_axis(box);
  const line = (version) => d3.line().defined((v) => v !== null).x((_, i) => box.x(middle(version, i))).y((v) => box.y(v));
  box.svg.append("path").attr("class", "curve bound").attr("d", line(longest)(bounds));
  for (const version of drawn)
    box.svg.append("path").attr("class", "curve").style("stroke", colour(results.indexOf(version.from))).attr("d", line(version)(version.curve));
  const special = text === null ? [] : text.special;
  box.svg.append("g").selectAll("path").data(special).enter().append("path").attr("class", "special")
    .attr("d", "M0,0L-4,-8L4,-8Z").attr("transform", (p) => `translate(${box.x(p + 0.5)},${box.base})`);
  const rule = box.svg.append("line").attr("class", "cursor").attr("y1", 8).attr("y2", box.base).style("display", "none");
  const legend = element("div", { class: "legend" });
  const entry = (kind, text) => legend.append(element("span", {}, element("i", { class: kind }), text));
  if (against) legend_of_results(legend); else entry("measured", "entropy");
  if (bounds[0] !== null) entry("bound", "log k: all visible keys alike");
  if (special.length) entry("special", "special tokens");
  const readout = element("p", { class: "readout", "aria-live": "polite" }, `Point at the curve, or focus it and use the arrow keys, to read ${text === null ? "it" : "the text there"}.`);
  place.append(legend, readout);
  const value_there = (version, position) => version.curve[Math.floor((position * version.curve.length) / rows(version))];
  pick(box.svg, m, (px) => Math.floor((box.x.invert(px) / end) * m), (i) => {
    const [first, last] = stretch(i, m, rows(longest)), boxes = token_boxes(text, first, last);
    const values = drawn.map((version) => (version === longest ? version.curve[i] : value_there(version, first)));
    rule.style("display", null).attr("x1", box.x(middle(longest, i))).attr("x2", box.x(middle(longest, i)));
    readout.replaceChildren(element("strong", {}, `${stretch_name(i, m, rows(longest))}: ${values.map(show).join(" → ")} nats, ${values.map((v) => show(Math.exp(v))).join(" → ")} keys `),
      ...boxes, boxes.length < last - first && boxes.length ? " …" : "");
  });
}

// One bar per value and series, with marks below them, or over an axis of positions. A series has values and a colour.
function draw_bars(place, { label, series, names, marks, axis, y_label, room, height }) {
  const count = d3.max(series, ({ values }) => values.length);
  const box = frame(place, label, room, height, axis || [0, count], d3.max(series.flatMap(({ values }) => values)), y_label);
  const step = (box.right - box.left) / count, gap = step > 12 ? 2 : step > 4 ? 1 : 0, width = (step - gap) / series.length;
  series.forEach(({ values, index }, s) => box.svg.append("g").selectAll("rect").data(values).enter().append("rect").attr("class", "bar").style("fill", colour(index))
    .attr("x", (_, i) => box.left + i * step + gap / 2 + s * width).attr("width", Math.max(0.5, width))
    .attr("y", (v) => box.y(v || 0)).attr("height", (v) => Math.max(0, box.base - box.y(v || 0))));
  if (axis) position_axis(box);
  else {
    const every = Math.ceil((count * 30) / (box.right - box.left));
    box.svg.append("g").selectAll("text").data(marks).enter().append("text").attr("text-anchor", "middle")
      .attr("x", (_, i) => box.left + (i + 0.5) * step).attr("y", box.base + 14).text((name, i) => (i % every ? "" : name));
  }
  const readout = element("p", { class: "readout" }, " ");
  place.append(readout);
  pick(box.svg, count, (px) => Math.floor((px - box.left) / step), (i) => { readout.textContent = `${names[i]}: ${series.map(({ values }) => show(values[i])).join(" → ")}`; });
}

function draw_profile(place, head, room) {
  const begin = (b) => (b < 2 ? b : 2 ** (b - 1)), mark = (x) => (x < 1024 ? String(x) : `${x / 1024}k`);
  const distances = d3.range(d3.max(versions(head), ({ profile }) => profile.length)), legend = element("div", { class: "legend" });
  draw_bars(place, { label: "weight by distance", series: versions(head).map((version, index) => ({ values: version.profile, index })),
    names: distances.map((b) => `distance ${begin(b)}${b < 2 ? "" : `–${2 ** b - 1}`}`), marks: distances.map((b) => mark(begin(b))), y_label: "weight", room, height: 150 });
  legend_of_results(legend);
  place.append(legend);
}

function draw_keys(place, head, room) {
  for (const version of versions(head)) {
    const m = version.strip.length, from = version.from, n = layer_of(version).keys;
    if (against) place.append(element("h4", {}, result_name(from)));
    if (m) draw_bars(place, { label: "weight of keys", series: [{ values: version.strip, index: results.indexOf(from) }], names: version.strip.map((_, i) => `heaviest key of ${stretch_name(i, m, n)}`),
      y_label: "mean weight", room, height: 120, axis: [0, stretch(m - 1, m, n)[1]] });
    if (!version.keys.length) { place.append(element("p", { class: "note" }, "No key is seen by a quarter of the rows.")); continue; }
    place.append(element("p", { class: "keys" }, "Heaviest: ", ...version.keys.map(([position, weight, token]) =>
      element("span", { class: "key" }, text_of_keys(version) && token_box(token, is_special(text_of_keys(version), position)), ` at ${position}: ${show(weight)} `))));
  }
}

// Whether one of these rows sees one of those keys; outside decoders every row may.
function is_seen(layer, [first_row, end_row], [first_key, end_key]) {
  return layer.kind !== "decoder" || (first_key < end_row && (layer.window === null || end_key > first_row - layer.window + 1));
}

// On a linear scale, weights spread over many keys would all have the darkest colour. A reader's choice also applies to the next heads.
const FAINT = 0.1, matrix_state = { log: null };
const are_faint = (rows) => d3.median(rows, (row) => d3.max(row)) < FAINT;
function with_log_colours(place, matrices, draw_all) {
  const box = element("div"), log = element("input", { type: "checkbox" });
  log.checked = matrix_state.log === null ? matrices.some(are_faint) : matrix_state.log;
  const draw_it = () => { box.replaceChildren(); draw_all(box, log.checked ? { low: 1e-4, high: 1, scale: "log" } : { low: 0, high: 1, scale: "linear" }); };
  log.addEventListener("change", () => { matrix_state.log = log.checked; draw_it(); });
  place.append(element("label", { class: "choice" }, log, " log colours"), box);
  draw_it();
}

// With two texts, the axes name them.
function axis_names(head) {
  const named = (axis, text) => (head.from.tokens.written.count && text ? `${axis}, in ${sequence_name(head, text)}` : axis);
  return { x_label: named("key", text_of_keys(head)), y_label: named("query", text_of_rows(head)) };
}

function draw_matrix(place, head, room) {
  const matrices = versions(head).map(({ blocks }) => unpack(blocks));
  with_log_colours(place, matrices, (box, colours) => {
    versions(head).forEach((version, i) => {
      const blocks = matrices[i], layer = layer_of(version), row_at = (r) => stretch(r, blocks.length, layer.rows);
      if (!blocks.length) return;
      const key_at = (c) => stretch(c, blocks[0].length, layer.keys);
      const rows = blocks.map((row, r) => row.map((v, c) => (is_seen(layer, row_at(r), key_at(c)) ? v : null)));
      draw_heat_map(d3.select(box), { title: result_name(version.from), rows, ...colours, ...axis_names(version),
        row_names: rows.map((_, r) => String(row_at(r)[0])), column_names: rows[0].map((_, c) => String(key_at(c)[0])) }, Math.min(room, 460));
    });
  });
}

function draw_head_lengths(place, head, room) {
  draw_plot(d3.select(place), { ...length_axes(), title: "", y_label: "entropy, nats",
    curves: versions(head).map((version, index) => ({ label: result_name(version.from), style: "measured", colour: index, x: lengths_of(version.from), y: version.lengths })) }, room);
}
