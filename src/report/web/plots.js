// Curve plots and heat maps (report/plot.hpp, report/page.hpp), drawn with D3.
"use strict";

const colour = (index) => (index < 0 ? "var(--ink)" : `var(--c${index % 8})`);
const short = (x) => (x === 0 || (Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5) ? String(+x.toPrecision(5)) : x.toExponential(3).replace(/\.?0+e/, "e"));

// Heights start at zero, unless that wastes more than half of the plot. `span` is the smallest range shown, so that
// small differences do not fill a plot.
function scale_for(kind, values, range, is_height, span = 0) {
  const usable = kind === "log" ? values.filter((v) => v > 0) : values;
  let [low, high] = d3.extent(usable);
  if (is_height && kind !== "log" && low > 0 && low < 0.55 * high) low = 0;
  if (high - low < span) {
    const middle = (low + high) / 2, lowest = low >= 0 ? Math.max(0, middle - span / 2) : middle - span / 2;
    [low, high] = [lowest, lowest + span];
  }
  if (low === undefined) [low, high] = kind === "log" ? [1, 10] : [0, 1];
  if (low === high) [low, high] = kind === "log" ? [low / 2, high * 2] : [low - 0.5, high + 0.5];
  if (kind === "log") return d3.scaleLog().domain([low, high]).range(range);
  return d3.scaleLinear().domain([low, high]).range(range).nice();
}

// A log axis has numbers at the decades, and also at 2 and 5 if there are few decades.
function ticks_of(scale, kind, count) {
  if (kind !== "log") return scale.ticks(count);
  const [low, high] = scale.domain(), decades = Math.log10(high / low);
  const leading = decades < 1.5 ? [1, 2, 5] : [1], step = Math.max(1, Math.ceil(decades / count));
  return d3.range(Math.floor(Math.log10(low)), Math.log10(high) + 1, step).flatMap((e) => leading.map((m) => m * 10 ** e))
    .filter((v) => v >= low * 0.999 && v <= high * 1.001);
}

const tick_label = (v) => d3.format(v === 0 ? "~g" : Math.abs(v) < 1e-3 || Math.abs(v) >= 1e6 ? "~e" : Math.abs(v) >= 1e3 ? "~s" : "~g")(v);
const label_for = (scale, kind) => (kind === "log" ? tick_label : scale.tickFormat(5));
const axis_for = (axis, scale, ticks, kind) => axis(scale).tickValues(ticks).tickSizeOuter(0).tickFormat(label_for(scale, kind));

function points_of(plot) {
  const usable = (v, kind) => v !== null && (kind !== "log" || v > 0);
  return plot.curves.map((curve) =>
    curve.x.map((x, i) => [x, curve.y[i]]).filter(([x, y]) => usable(x, plot.x_scale) && usable(y, plot.y_scale)));
}

// Every eight curves repeat the colours, with another dash.
const DASHES = [null, "7 3", "2 3"];

// Bounds are grey; points have the colour of the previous curve; a curve that specifies a colour gets it.
function colours_of(plot) {
  let next = 0, index = 0;
  return plot.curves.map((curve) => {
    if (curve.style === "bound") return { stroke: null, dash: null };
    if (curve.style !== "points") index = curve.colour === null ? next++ : curve.colour;
    return { stroke: colour(index), dash: index < 0 ? null : DASHES[Math.floor(index / 8) % DASHES.length] };
  });
}

function draw_plot(place, plot, room) {
  const width = Math.min(room, 720), height = Math.max(230, Math.min(360, 0.62 * width));
  const right = 12, top = 10, bottom = 38;
  const box = place.append("div").attr("class", "plot").style("max-width", `${width}px`);
  if (plot.title) formulas.set(box.append("h3"), plot.title, true);
  const svg = box.append("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("role", "img").attr("aria-label", plot.title);
  const points = points_of(plot), all = points.flat(), colours = colours_of(plot);
  const y = scale_for(plot.y_scale, all.map((p) => p[1]), [height - bottom, top], true, plot.y_span), y_ticks = ticks_of(y, plot.y_scale, 5);
  const left = 30 + 6.2 * d3.max(y_ticks, (v) => label_for(y, plot.y_scale)(v).length);
  const x = scale_for(plot.x_scale, all.map((p) => p[0]), [left, width - right]), x_ticks = plot.x_ticks || ticks_of(x, plot.x_scale, 5);
  svg.append("g").selectAll("line").data(y_ticks).enter().append("line").attr("class", "grid")
    .attr("x1", left).attr("x2", width - right).attr("y1", y).attr("y2", y);
  svg.append("g").attr("transform", `translate(0,${height - bottom})`)
    .call(plot.x_ticks ? d3.axisBottom(x).tickValues(x_ticks).tickSizeOuter(0).tickFormat(String) : axis_for(d3.axisBottom, x, x_ticks, plot.x_scale));
  svg.append("g").attr("transform", `translate(${left},0)`).call(axis_for(d3.axisLeft, y, y_ticks, plot.y_scale));
  svg.append("text").attr("x", (left + width - right) / 2).attr("y", height - 4).attr("text-anchor", "middle").text(formulas.plain(plot.x_label));
  svg.append("text").attr("transform", `translate(11,${(top + height - bottom) / 2}) rotate(-90)`)
    .attr("text-anchor", "middle").text(formulas.plain(plot.y_label));
  const path = d3.line().x((p) => x(p[0])).y((p) => y(p[1]));
  plot.curves.forEach((curve, c) => {
    const group = svg.append("g").attr("class", "series");
    // Measured values in no particular order are a cloud, not a curve.
    const ordered = curve.style !== "measured" || points[c].every((p, i) => i === 0 || p[0] >= points[c][i - 1][0]);
    if (curve.style !== "points" && ordered) {
      group.append("path").attr("class", curve.style === "bound" ? "curve bound" : "curve")
        .style("stroke", colours[c].stroke).style("stroke-dasharray", colours[c].dash).attr("d", path(points[c]));
    }
    if (curve.style === "points" || (curve.style === "measured" && (!ordered || points[c].length <= 60))) {
      group.selectAll("circle").data(points[c]).enter().append("circle").attr("class", "dot")
        .attr("cx", (p) => x(p[0])).attr("cy", (p) => y(p[1])).attr("r", 3).style("fill", colours[c].stroke);
    }
  });
  const legend = box.append("div").attr("class", "legend");
  plot.curves.forEach((curve, c) => {
    if (!curve.label) return;
    const entry = legend.append("span").on("mouseenter", () => single_out(svg, c)).on("mouseleave", () => single_out(svg, null));
    entry.append("i").attr("class", curve.style).style("border-color", colours[c].stroke)
      .style("border-top-style", colours[c].dash && (colours[c].dash === DASHES[2] ? "dotted" : "dashed"));
    formulas.set(entry.append("span"), curve.label, true);
  });
  const labels = plot.curves.map((curve) => formulas.plain(curve.label || ""));
  follow_pointer(svg, legend.append("span").attr("class", "value"), points, labels, colours, x, y);
}

// Fades all curves but one; null: none.
function single_out(svg, chosen) {
  svg.selectAll(".series").classed("faded", (d, c) => chosen !== null && c !== chosen);
}

// Shows the label and the numbers of the point nearest to the pointer.
function follow_pointer(svg, readout, points, labels, colours, x, y) {
  const flat = points.flatMap((list, c) => list.map((p) => [p[0], p[1], c]));
  const mark = svg.append("circle").attr("class", "near").attr("r", 5).style("display", "none");
  svg.on("mousemove", function () {
    const [px, py] = d3.mouse(this);
    const near = flat[d3.scan(flat, (a, b) => Math.hypot(x(a[0]) - px, y(a[1]) - py) - Math.hypot(x(b[0]) - px, y(b[1]) - py))];
    if (!near) return;
    mark.style("display", null).attr("cx", x(near[0])).attr("cy", y(near[1])).style("stroke", colours[near[2]].stroke);
    readout.text(`${labels[near[2]] ? `${labels[near[2]]}: ` : ""}${short(near[0])} → ${short(near[1])}`);
  }).on("mouseleave", () => { mark.style("display", "none"); readout.text(""); });
}

// The cells as an image with one pixel each, so that a matrix of any size is one element.
function image_of(map, columns, shade) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [columns, map.rows.length];
  const context = canvas.getContext("2d");
  map.rows.forEach((row, r) => row.forEach((v, c) => {
    if (v === null) return;
    context.fillStyle = shade(v);
    context.fillRect(c, r, 1, 1);
  }));
  return canvas.toDataURL();
}

// Names along an axis, as many as fit.
function draw_names(svg, names, count, cell, gap, place) {
  let every = d3.tickStep(0, count, Math.max(1, Math.min(count, (count * cell) / gap))) | 0 || 1;
  while (every * cell < gap && every < count) every *= 2;
  svg.append("g").selectAll("text").data(d3.range(0, count, every)).enter().append("text")
    .attr("transform", (i) => place((i + 0.5) * cell)).attr("text-anchor", gap > 12 ? "middle" : "end").attr("dy", "0.32em")
    .text((i) => names[i] || String(i));
}

function draw_heat_map(place, map, room) {
  const columns = d3.max(map.rows, (row) => row.length), count = map.rows.length;
  if (!columns) return;
  const widest = (names, n) => d3.max(names.length ? names : [String(n)], (name) => name.length);
  const left = 26 + 6.2 * Math.min(18, widest(map.row_names, count)), bottom = 36, width = Math.min(room, 560);
  const cell = (width - left) / columns, tall = Math.min(cell, 28), height = tall * count + bottom;
  const box = place.append("div").attr("class", "plot").style("max-width", `${width}px`);
  if (map.title) box.append("h3").text(map.title);
  const scale = map.scale === "log" ? d3.scaleSequentialLog : d3.scaleSequential;
  const shade = scale(d3.interpolateViridis).domain([map.low, map.high]).clamp(true);
  const svg = box.append("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("role", "img").attr("aria-label", map.title);
  svg.append("image").attr("x", left).attr("width", cell * columns).attr("height", tall * count)
    .attr("preserveAspectRatio", "none").style("image-rendering", "pixelated").attr("href", image_of(map, columns, shade));
  draw_names(svg, map.row_names, count, tall, 12, (at) => `translate(${left - 6},${at})`);
  draw_names(svg, map.column_names, columns, cell, 10 + 6.2 * widest(map.column_names, columns), (at) => `translate(${left + at},${tall * count + 10})`);
  svg.append("text").attr("x", (left + width) / 2).attr("y", height - 4).attr("text-anchor", "middle").text(map.x_label);
  svg.append("text").attr("transform", `translate(11,${(height - bottom) / 2}) rotate(-90)`).attr("text-anchor", "middle").text(map.y_label);
  const legend = box.append("div").attr("class", "legend");
  const stops = d3.range(0, 1.01, 0.1).map((t) => d3.interpolateViridis(t)).join(",");
  legend.append("span").text(short(map.low));
  legend.append("span").attr("class", "shades").style("background", `linear-gradient(90deg,${stops})`);
  legend.append("span").text(short(map.high));
  const readout = legend.append("span").attr("class", "value");
  const name = (names, i) => names[i] || String(i), say = map.describe || ((r, c, value) => `${name(map.row_names, r)}, ${name(map.column_names, c)} → ${short(value)}`);
  const mark = svg.append("rect").attr("class", "near").attr("width", cell).attr("height", tall).style("display", "none");
  let at = [0, 0];
  const read = (r, c) => {
    const value = map.rows[r] && map.rows[r][c], is_there = value !== undefined && value !== null;
    readout.text(is_there ? say(r, c, value) : "");
    mark.style("display", is_there ? null : "none").attr("x", left + c * cell).attr("y", r * tall);
    at = [r, c];
  };
  const MOVE = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  svg.attr("tabindex", 0).on("mousemove", function () {
    const [px, py] = d3.mouse(this);
    read(Math.floor(py / tall), Math.floor((px - left) / cell));
  }).on("mouseleave", () => { readout.text(""); mark.style("display", "none"); }).on("focus", () => read(...at)).on("keydown", () => {
    const step = MOVE[d3.event.key];
    if (!step) return;
    d3.event.preventDefault();
    read(Math.max(0, Math.min(count - 1, at[0] + step[0])), Math.max(0, Math.min(columns - 1, at[1] + step[1])));
  });
}
