// Shared by all pages of a scan: elements, numbers as text, small drawings, and grids of cells. Text enters by textContent alone.
"use strict";

const NOT_MEASURED = "–";

// element("p", { class: "note" }, "text", another_element)
function element(tag, attributes = {}, ...children) {
  const out = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) out.setAttribute(name, value);
  out.append(...children.filter((child) => child !== null && child !== undefined));
  return out;
}

// These numbers have three significant digits.
function show(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return NOT_MEASURED;
  if (x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e6)) return x.toExponential(1);
  return Math.abs(x) >= 1000 ? String(Math.round(x)) : String(+x.toPrecision(3));
}
const show_signed = (x) => (x === null ? NOT_MEASURED : (x > 0 ? "+" : "") + show(x).replace("-", "−"));
const in_words = (label) => label.replaceAll("_", " ");

function draw_fact_list(place, facts) {
  const list = element("dl", { class: "facts" });
  for (const [label, text] of facts) list.append(element("div", {}, element("dt", {}, label), element("dd", {}, text)));
  place.append(list);
}

// Black on light colours, white on dark ones.
const ink_on = (shade) => (d3.lab(shade).l > 60 ? "#000" : "#fff");

// Axes of a small drawing; returns its scales.
function frame(place, label, room, height, x_domain, y_high, y_label, y_low = 0) {
  const left = 58, bottom = 20, top = 8, right = 8;
  const svg = d3.select(place).append("svg").attr("viewBox", `0 0 ${room} ${height}`).attr("role", "img").attr("aria-label", label);
  const x = d3.scaleLinear().domain(x_domain).range([left, room - right]);
  const y = d3.scaleLinear().domain([y_low, y_high > y_low ? y_high : y_low + 1]).range([height - bottom, top]);
  const ticks = y.ticks(4);
  svg.append("g").selectAll("line").data(ticks).enter().append("line").attr("class", "grid")
    .attr("x1", left).attr("x2", room - right).attr("y1", y).attr("y2", y);
  svg.append("g").attr("transform", `translate(${left},0)`).call(d3.axisLeft(y).tickValues(ticks).tickSizeOuter(0).tickFormat(d3.format("~g")));
  svg.append("text").attr("transform", `translate(9,${(height - bottom + top) / 2}) rotate(-90)`).attr("text-anchor", "middle").text(y_label);
  return { svg, x, y, left, base: height - bottom, right: room - right };
}
const position_axis = ({ svg, x, base }) => svg.append("g").attr("transform", `translate(0,${base})`)
  .call(d3.axisBottom(x).ticks(6).tickSizeOuter(0).tickFormat(d3.format("~d")));

// Selects one index at a time: the nearest to the pointer, or the next one with the arrow keys.
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

function show_tooltip(cell, [title, value, more]) {
  const tip = document.querySelector(".tooltip");
  tip.replaceChildren(element("strong", {}, title), element("span", {}, value), element("span", { class: "quiet" }, more));
  tip.hidden = false;
  const box = cell.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(box.left, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${box.bottom + tip.offsetHeight + 8 > innerHeight ? box.top - tip.offsetHeight - 6 : box.bottom + 6}px`;
}
function hide_tooltip() { document.querySelector(".tooltip").hidden = true; }


// A grid of layers x heads: rows of items, navigated with the arrow keys; a click, Enter or the space bar opens one.
// Tab focuses one cell, initially `current`. Returns the cells by item, and whether they are wide enough for numbers.
const LEAST_CELL = 18, MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function draw_grid(place, room, { label, rows, name_of, describe, current, walked, open }) {
  const most = d3.max(rows, ({ items }) => items.length) || 0;
  const width = Math.max(LEAST_CELL, Math.min(80, Math.floor((room - 40) / most))), height = Math.max(LEAST_CELL, Math.min(32, width));
  const grid = element("div", { class: "map", role: "grid", "aria-label": label });
  grid.style.cssText = `--width: ${width}px; --height: ${height}px`;
  const every = d3.tickStep(0, most, Math.min(most, (most * width) / 26)) | 0 || 1;
  grid.append(element("div", { class: "line", "aria-hidden": "true" }, element("span", { class: "name" }, ""),
    ...d3.range(most).map((i) => element("span", { class: "name" }, i % every ? "" : String(i)))));
  const cells = new Map();
  const walk_to = (item) => {
    if (cells.has(current)) cells.get(current).tabIndex = -1;
    current = item;
    walked(item);
    cells.get(item).tabIndex = 0;
  };
  rows.forEach(({ name, items }, r) => {
    const line = element("div", { class: "line", role: "row" }, element("span", { class: "name", role: "rowheader" }, name));
    items.forEach((item, c) => {
      const cell = element("div", { class: "cell", role: "gridcell", tabindex: "-1", "data-head": name_of(item) });
      cells.set(item, cell);
      cell.addEventListener("mouseenter", () => show_tooltip(cell, describe(item)));
      cell.addEventListener("focus", () => { walk_to(item); show_tooltip(cell, describe(item)); });
      for (const leaving of ["mouseleave", "blur"]) cell.addEventListener(leaving, hide_tooltip);
      cell.addEventListener("click", () => open(item));
      cell.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(item); }
        if (event.key === "Escape") hide_tooltip();
        if (!MOVES[event.key]) return;
        event.preventDefault();
        const [down, right] = MOVES[event.key], next = ((rows[r + down] || { items: [] }).items)[c + right];
        if (next) cells.get(next).focus();
      });
      line.append(cell);
    });
    grid.append(line);
  });
  if (cells.has(current)) walk_to(current);
  place.append(element("div", { class: "axes", "aria-hidden": "true" }, "layers ↓  heads →"), grid);
  return { cells, with_values: width >= 42 };
}

// The box in which cells are described.
const tooltip = element("div", { class: "tooltip", role: "tooltip" });
tooltip.hidden = true;
document.body.append(tooltip);
