// The map of layers x heads: coloured by a statistic, filtered by labels, walked through with the arrow keys.
"use strict";

const map_state = { term: term_named("normalised_entropy") || scan.terms[0], log: false, labels: new Set(), current: scan.heads[0] };

// Shares have the same colours in every model; other statistics those of their own range.
function map_range(term, log) {
  const values = scan.heads.map((head) => value_at(head, term)[0]).filter((x) => x !== null && (!log || x > 0));
  const [least, most] = values.length ? d3.extent(values) : [0, 1];
  const low = term.is_share && !log ? 0 : least, high = term.is_share ? 1 : most;
  return low < high ? [low, high] : [low - (log ? low / 2 : 0.5), high + (log ? high : 0.5)];
}

function map_shade() {
  const scale = map_state.log ? d3.scaleSequentialLog : d3.scaleSequential;
  return scale(d3.interpolateViridis).domain(map_range(map_state.term, map_state.log)).clamp(true);
}

const is_dimmed = (head) => map_state.labels.size > 0 && ![...map_state.labels].some((label) => has_label(head, label));

// Black on light colours, white on dark ones.
const ink_on = (shade) => (d3.lab(shade).l > 60 ? "#000" : "#fff");

function draw_controls(place, redraw) {
  const select = element("select", { id: "statistic" });
  for (const term of scan.terms) {
    const option = element("option", { value: term.name }, term.title);
    option.selected = term === map_state.term;
    select.append(option);
  }
  const log = element("input", { type: "checkbox", id: "log" });
  log.checked = map_state.log;
  select.addEventListener("change", () => {
    map_state.term = term_named(select.value);
    log.checked = map_state.log = map_state.term.is_heavy_tailed;
    redraw();
  });
  log.addEventListener("change", () => { map_state.log = log.checked; redraw(); });
  place.append(element("label", {}, "colour ", select), element("label", {}, log, " log colours"));
}

function draw_range(place) {
  const { term, log } = map_state, [low, high] = map_range(term, log);
  const stops = d3.range(0, 1.01, 0.1).map((t) => d3.interpolateViridis(t)).join(",");
  const shades = element("span", { class: "shades" });
  shades.style.background = `linear-gradient(90deg,${stops})`;
  const unit = term.unit ? ` ${term.unit}` : "";
  place.replaceChildren(element("span", {}, show(low)), shades, element("span", {}, show(high) + unit),
    element("span", {}, `${term.is_share && !log ? "fixed range" : "range of these heads"}${log ? ", logarithmic" : ""}`));
  formulas.set(d3.select(place).append("span").attr("class", "meaning"), term.meaning, true);
}

// Several labels show the heads that have one of them.
function draw_filters(place, redraw) {
  const choices = [...scan.rules.map(({ label, meaning }) => ({ label, meaning, title: in_words(label) })),
    { label: NO_LABEL, title: "no label", meaning: "No rule describes it." }];
  for (const { label, meaning, title } of choices) {
    const count = scan.heads.filter((head) => has_label(head, label)).length;
    if (!count) continue;
    const button = element("button", { class: "filter", "aria-pressed": map_state.labels.has(label), "data-label": label },
      element("strong", {}, String(count)), element("span", { class: "label" }, title), element("span", { class: "meaning" }, meaning));
    button.addEventListener("click", () => {
      if (!map_state.labels.delete(label)) map_state.labels.add(label);
      button.setAttribute("aria-pressed", map_state.labels.has(label));
      redraw();
    });
    place.append(button);
  }
}

function describe_cell(head) {
  const labels = head.labels.map((label) => in_words(label.name)).join(", ") || "no label";
  return [`Head ${head_name(head)}`, `${map_state.term.title} ${show_spread(value_at(head, map_state.term))}`, labels];
}

function show_tooltip(cell, head) {
  const tip = document.querySelector(".tooltip"), [title, value, labels] = describe_cell(head);
  tip.replaceChildren(element("strong", {}, title), element("span", {}, value), element("span", { class: "quiet" }, labels));
  tip.hidden = false;
  const box = cell.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(box.left, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${box.bottom + tip.offsetHeight + 8 > innerHeight ? box.top - tip.offsetHeight - 6 : box.bottom + 6}px`;
}
function hide_tooltip() { document.querySelector(".tooltip").hidden = true; }

const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

const LEAST_CELL = 18, FILTERS = 280;
const most_heads = () => 1 + (d3.max(scan.heads, (head) => head.head) || 0);

function draw_cells(place, room, open) {
  const layers = d3.nest().key((head) => head.layer).entries(scan.heads).map((entry) => entry.values);
  const most = most_heads();
  const width = Math.max(LEAST_CELL, Math.min(80, Math.floor((room - 40) / most))), height = Math.max(LEAST_CELL, Math.min(32, width));
  const grid = element("div", { class: "map", role: "grid", "aria-label": "layers by heads" });
  grid.style.cssText = `--width: ${width}px; --height: ${height}px`;
  const every = d3.tickStep(0, most, Math.min(most, (most * width) / 26)) | 0 || 1;
  grid.append(element("div", { class: "line", "aria-hidden": "true" }, element("span", { class: "name" }, ""),
    ...d3.range(most).map((i) => element("span", { class: "name" }, i % every ? "" : String(i)))));
  const cells = new Map();
  layers.forEach((row, r) => {
    const line = element("div", { class: "line", role: "row" }, element("span", { class: "name", role: "rowheader" }, String(row[0].layer)));
    row.forEach((head, c) => {
      const cell = element("div", { class: "cell", role: "gridcell", tabindex: "-1", "data-head": head_name(head) });
      cells.set(head, cell);
      cell.addEventListener("mouseenter", () => show_tooltip(cell, head));
      cell.addEventListener("focus", () => { walk_to(head); show_tooltip(cell, head); });
      for (const leaving of ["mouseleave", "blur"]) cell.addEventListener(leaving, hide_tooltip);
      cell.addEventListener("click", () => open(head));
      cell.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(head); }
        if (event.key === "Escape") hide_tooltip();
        if (!MOVES[event.key]) return;
        event.preventDefault();
        const [down, right] = MOVES[event.key], next = (layers[r + down] || [])[c + right];
        if (next) cells.get(next).focus();
      });
      line.append(cell);
    });
    grid.append(line);
  });
  // Tab enters the map at one cell, the arrow keys move that one.
  const walk_to = (head) => {
    if (cells.has(map_state.current)) cells.get(map_state.current).tabIndex = -1;
    map_state.current = head;
    cells.get(head).tabIndex = 0;
  };
  if (map_state.current) walk_to(map_state.current);
  place.append(element("div", { class: "axes", "aria-hidden": "true" }, "layers ↓  heads →"), grid);
  return { cells, with_values: width >= 42 };
}

function paint_cells({ cells, with_values }) {
  const shade = map_shade();
  for (const [head, cell] of cells) {
    const value = value_at(head, map_state.term)[0], colour_of_cell = value === null ? null : shade(value);
    cell.classList.toggle("dimmed", is_dimmed(head));
    cell.classList.toggle("empty", value === null);
    cell.style.background = colour_of_cell;
    cell.style.color = colour_of_cell && ink_on(colour_of_cell);
    if (with_values || value === null) cell.textContent = value !== null && map_state.term.is_share ? value.toFixed(2) : show(value);
    cell.setAttribute("aria-label", describe_cell(head).join(", "));
  }
}

function draw_map(place, room, open) {
  const side_by_side = room >= 640 && 40 + most_heads() * LEAST_CELL <= room - FILTERS;
  const controls = element("div", { class: "choices" }), range = element("div", { class: "legend range" });
  const scroll = element("div", { class: "map-scroll" }), filters = element("div", { class: "filters" });
  place.append(controls, element("div", { class: side_by_side ? "map-and-filters" : "map-and-filters stacked" }, element("div", { class: "map-side" }, scroll, range), filters));
  const drawn = draw_cells(scroll, side_by_side ? room - FILTERS : room, open);
  const redraw = () => { paint_cells(drawn); draw_range(range); };
  draw_controls(controls, redraw);
  draw_filters(filters, redraw);
  redraw();
  return drawn.cells;
}
