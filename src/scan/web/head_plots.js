// The drawings of one head: entropy along the text, weight by distance, heavy keys, matrix, entropy by length.
"use strict";

// The positions that point i of m covers: [begin, end).
function stretch(i, m) {
  const n = scan.tokens.count || scan.length;
  return [Math.ceil((i * n) / m), Math.max(Math.ceil((i * n) / m) + 1, Math.ceil(((i + 1) * n) / m))];
}
const stretch_name = (i, m) => { const [begin, end] = stretch(i, m); return end - begin > 1 ? `${begin}–${end - 1}` : String(begin); };

function tokens_at(position) {
  const { count, stretches } = scan.tokens;
  return stretches.length ? stretches[Math.floor((position * stretches.length) / count)] || [] : [];
}

// How many keys a row sees; null across, where it is not known here.
function keys_seen(layer, position) {
  const n = scan.tokens.count || scan.length, window = layer.window === null ? Infinity : layer.window;
  if (layer.kind === "decoder") return Math.min(position + 1, window);
  return layer.kind === "encoder" ? Math.min(n, window) : null;
}

// Axes of a small drawing; returns its scales.
function frame(place, label, room, height, x_domain, y_high, y_label) {
  const left = 54, bottom = 20, top = 8, right = 8;
  const svg = d3.select(place).append("svg").attr("viewBox", `0 0 ${room} ${height}`).attr("role", "img").attr("aria-label", label);
  const x = d3.scaleLinear().domain(x_domain).range([left, room - right]);
  const y = d3.scaleLinear().domain([0, y_high > 0 ? y_high : 1]).range([height - bottom, top]);
  const ticks = y.ticks(4);
  svg.append("g").selectAll("line").data(ticks).enter().append("line").attr("class", "grid")
    .attr("x1", left).attr("x2", room - right).attr("y1", y).attr("y2", y);
  svg.append("g").attr("transform", `translate(${left},0)`).call(d3.axisLeft(y).tickValues(ticks).tickSizeOuter(0).tickFormat(d3.format("~g")));
  svg.append("text").attr("transform", `translate(10,${(height - bottom + top) / 2}) rotate(-90)`).attr("text-anchor", "middle").text(y_label);
  return { svg, x, y, left, base: height - bottom, right: room - right };
}
const position_axis = ({ svg, x, base }) => svg.append("g").attr("transform", `translate(0,${base})`)
  .call(d3.axisBottom(x).ticks(6).tickSizeOuter(0).tickFormat(d3.format("~d")));

// One index at a time: the nearest to the pointer, or moved with the arrow keys.
function pick(svg, count, index_at, picked) {
  let at = 0;
  const move = (to) => { at = Math.max(0, Math.min(count - 1, to)); picked(at); };
  svg.attr("tabindex", 0)
    .on("mousemove", function () { move(index_at(d3.mouse(this)[0])); })
    .on("focus", () => move(at))
    .on("keydown", () => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[d3.event.key];
      if (step) { d3.event.preventDefault(); move(at + step); }
    });
}

function draw_entropy_along(place, head, room) {
  const curve = head.curve, m = curve.length, layer = layer_of(head);
  if (!m) { place.append(element("p", { class: "note" }, "Not measured.")); return; }
  const middle = (i) => d3.mean(stretch(i, m)) - 0.5;
  const bounds = d3.range(m).map((i) => keys_seen(layer, middle(i))).map((k) => (k === null ? null : Math.log(k)));
  const box = frame(place, "entropy along the text", room, 180, [0, stretch(m - 1, m)[1]], d3.max([...curve, ...bounds]), "nats");
  position_axis(box);
  const line = d3.line().defined((v) => v !== null).x((_, i) => box.x(middle(i))).y((v) => box.y(v));
  box.svg.append("path").attr("class", "curve bound").attr("d", line(bounds));
  box.svg.append("path").attr("class", "curve").style("stroke", colour(0)).attr("d", line(curve));
  box.svg.append("g").selectAll("path").data(scan.tokens.special).enter().append("path").attr("class", "special")
    .attr("d", "M0,0L-4,-8L4,-8Z").attr("transform", (p) => `translate(${box.x(p + 0.5)},${box.base})`);
  const rule = box.svg.append("line").attr("class", "cursor").attr("y1", 8).attr("y2", box.base).style("display", "none");
  const legend = element("div", { class: "legend" });
  const entry = (kind, text) => legend.append(element("span", {}, element("i", { class: kind }), text));
  entry("measured", "entropy");
  if (bounds[0] !== null) entry("bound", "log k: all visible keys alike");
  if (scan.tokens.special.length) entry("special", "special tokens");
  const readout = element("p", { class: "readout", "aria-live": "polite" }, "Point at the curve, or focus it and use the arrow keys, to read the text there.");
  place.append(legend, readout);
  pick(box.svg, m, (px) => Math.floor((box.x.invert(px) / stretch(m - 1, m)[1]) * m), (i) => {
    rule.style("display", null).attr("x1", box.x(middle(i))).attr("x2", box.x(middle(i)));
    const [begin, end] = stretch(i, m), tokens = tokens_at(begin).slice(0, end - begin);
    readout.replaceChildren(element("strong", {}, `${stretch_name(i, m)}: ${show(curve[i])} nats, ${show(Math.exp(curve[i]))} keys `),
      ...tokens.map(token_box), tokens.length < end - begin && tokens.length ? " …" : "");
  });
}

// A bar for each value, with marks below them, or over an axis of positions.
function draw_bars(place, { label, values, names, marks, axis, y_label, room, height }) {
  const most = d3.max(values);
  const box = frame(place, label, room, height, axis || [0, values.length], most, y_label);
  const step = (box.right - box.left) / values.length, gap = step > 12 ? 2 : step > 4 ? 1 : 0;
  box.svg.append("g").selectAll("rect").data(values).enter().append("rect").attr("class", "bar")
    .attr("x", (_, i) => box.left + i * step + gap / 2).attr("width", Math.max(0.5, step - gap))
    .attr("y", (v) => box.y(v || 0)).attr("height", (v) => Math.max(0, box.base - box.y(v || 0)));
  if (axis) position_axis(box);
  else {
    const every = Math.ceil((values.length * 30) / (box.right - box.left));
    box.svg.append("g").selectAll("text").data(marks).enter().append("text").attr("text-anchor", "middle")
      .attr("x", (_, i) => box.left + (i + 0.5) * step).attr("y", box.base + 14).text((name, i) => (i % every ? "" : name));
  }
  const readout = element("p", { class: "readout" }, " ");
  place.append(readout);
  pick(box.svg, values.length, (px) => Math.floor((px - box.left) / step), (i) => { readout.textContent = `${names[i]}: ${show(values[i])}`; });
}

function draw_profile(place, head, room) {
  const begin = (b) => (b < 2 ? b : 2 ** (b - 1)), mark = (x) => (x < 1024 ? String(x) : `${x / 1024}k`);
  draw_bars(place, { label: "weight by distance", values: head.profile, names: head.profile.map((_, b) => `distance ${begin(b)}${b < 2 ? "" : `–${2 ** b - 1}`}`),
    marks: head.profile.map((_, b) => mark(begin(b))), y_label: "weight", room, height: 150 });
}

function draw_keys(place, head, room) {
  const m = head.strip.length;
  if (m) draw_bars(place, { label: "weight of keys", values: head.strip, names: head.strip.map((_, i) => `heaviest key of ${stretch_name(i, m)}`),
    y_label: "mean weight", room, height: 120, axis: [0, stretch(m - 1, m)[1]] });
  if (!head.keys.length) { place.append(element("p", { class: "note" }, "No key is seen by a quarter of the rows.")); return; }
  place.append(element("p", { class: "keys" }, "Heaviest: ", ...head.keys.map(([position, weight, token]) =>
    element("span", { class: "key" }, token_box(token), ` at ${position}: ${show(weight)} `))));
}

// Whether a row of these sees one of those keys; outside decoders every row may.
function is_seen(layer, [first_row, end_row], [first_key, end_key]) {
  return layer.kind !== "decoder" || (first_key < end_row && (layer.window === null || end_key > first_row - layer.window + 1));
}

// The choice holds for the next heads too.
const matrix_state = { log: false };

function draw_matrix(place, head, room) {
  const rows = head.blocks.map((row, r) => row.map((v, c) => (is_seen(layer_of(head), stretch(r, head.blocks.length), stretch(c, row.length)) ? v : null)));
  const box = element("div"), log = element("input", { type: "checkbox" });
  log.checked = matrix_state.log;
  const draw_it = () => {
    box.replaceChildren();
    draw_heat_map(d3.select(box), { title: "", rows, low: log.checked ? 1e-4 : 0, high: 1, scale: log.checked ? "log" : "linear", x_label: "key",
      y_label: "query", row_names: rows.map((_, r) => String(stretch(r, rows.length)[0])),
      column_names: rows[0].map((_, c) => String(stretch(c, rows[0].length)[0])) }, Math.min(room, 460));
  };
  log.addEventListener("change", () => { matrix_state.log = log.checked; draw_it(); });
  place.append(element("label", { class: "choice" }, log, " log colours"), box);
  draw_it();
}

function draw_head_lengths(place, head, room) {
  const lengths = scan.lengths.map((length) => length.length);
  draw_plot(d3.select(place), { title: "", x_label: "tokens", y_label: "entropy, nats", x_scale: "log", y_scale: "linear", x_ticks: lengths, y_span: 0.1,
    curves: [{ label: "", style: "measured", colour: 0, x: lengths, y: head.lengths }] }, room);
}
