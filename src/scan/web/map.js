// The map of layers x heads: coloured by a statistic, filtered by labels, navigated with the arrow keys.
"use strict";

// `view` is the result that the map shows, or DIFFERENCE.
const DIFFERENCE = "difference";
const map_state = { term: term_named("normalised_entropy") || scan.terms[0], log: false, labels: new Set(), current: scan.heads[0], view: against ? DIFFERENCE : 0 };
const map_value = (head) => (map_state.view === DIFFERENCE ? difference(head, map_state.term) : value_at(versions(head)[map_state.view], map_state.term)[0]);

// Shares have the same colours in every model; other statistics span their own range, in a comparison that of both.
// Differences are centred on 0.
function map_range(term, log) {
  if (map_state.view === DIFFERENCE) {
    const most = d3.max(scan.heads, (head) => Math.abs(difference(head, term) || 0)) || 1e-9;
    return [-most, most];
  }
  const values = results.flatMap((result) => result.heads).map((head) => value_at(head, term)[0]).filter((x) => x !== null && (!log || x > 0));
  const [least, most] = values.length ? d3.extent(values) : [0, 1];
  const low = term.is_share && !log ? 0 : least, high = term.is_share ? 1 : most;
  return low < high ? [low, high] : [low - (log ? low / 2 : 0.5), high + (log ? high : 0.5)];
}

// Differences: blue falls, red rises, and no change has the background colour.
const is_dark = matchMedia("(prefers-color-scheme: dark)");
const diverging = () => d3.piecewise(d3.interpolateLab, is_dark.matches ? ["#6cb6ff", "#2b3138", "#ff8a65"] : ["#2166ac", "#f1f1f1", "#b2182b"]);

function map_shade() {
  if (map_state.view === DIFFERENCE) return d3.scaleSequential(diverging()).domain(map_range(map_state.term)).clamp(true);
  const scale = map_state.log ? d3.scaleSequentialLog : d3.scaleSequential;
  return scale(d3.interpolateViridis).domain(map_range(map_state.term, map_state.log)).clamp(true);
}

// The filters for heads: labels; in a comparison also labels that were lost and gained.
function choices_of_heads() {
  const by_label = (change, test) => scan.rules.map(({ label, meaning }) => ({ key: [change, label].filter(Boolean).join(" "),
    title: [change, in_words(label)].filter(Boolean).join(" "), meaning: meaning_when(meaning, change), test: (head) => test(head, label) }));
  if (!against) return [...by_label("", has_label), { key: NO_LABEL, title: "no label", meaning: "No rule describes it.", test: (head) => has_label(head, NO_LABEL) }];
  const has = (labels, name) => labels.some((label) => label.name === name);
  const changed = (head) => lost(head).length + gained(head).length > 0;
  return [{ key: "changed", title: "labels changed", meaning: "It lost or gained a label.", test: changed },
    ...by_label("lost", (head, label) => has(lost(head), label)), ...by_label("gained", (head, label) => has(gained(head), label)),
    { key: "same", title: "labels unchanged", meaning: "The rules describe it as before.", test: (head) => !changed(head) }];
}
const head_choices = choices_of_heads();
const is_dimmed = (head) => map_state.labels.size > 0 && !head_choices.some((choice) => map_state.labels.has(choice.key) && choice.test(head));

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
  const log_choice = element("label", {}, log, " log colours");
  place.append(element("label", {}, "colour ", select), against ? view_choice("view", map_state.view, (view) => {
    map_state.view = view;
    log_choice.hidden = view === DIFFERENCE;
    redraw();
  }) : "", log_choice);
  log_choice.hidden = map_state.view === DIFFERENCE;
}

// Which result's numbers a map or table of a comparison shows.
function view_choice(id, view, chosen) {
  const select = element("select", { id });
  [[DIFFERENCE, "second − first"], ["0", `first: ${scan.names[0]}`], ["1", `second: ${scan.names[1]}`]].forEach(([value, text]) => select.append(element("option", { value }, text)));
  select.value = String(view);
  select.addEventListener("change", () => chosen(select.value === DIFFERENCE ? DIFFERENCE : +select.value));
  return element("label", {}, "of ", select);
}

function draw_range(place) {
  const { term, log } = map_state, [low, high] = map_range(term, log);
  const is_difference = map_state.view === DIFFERENCE, stops = d3.range(0, 1.01, 0.1).map(is_difference ? diverging() : d3.interpolateViridis).join(",");
  const shades = element("span", { class: "shades" }), in_log = log && !is_difference;
  shades.style.background = `linear-gradient(90deg,${stops})`;
  const unit = term.unit ? ` ${term.unit}` : "";
  place.replaceChildren(element("span", {}, is_difference ? show_signed(low) : show(low)), shades, element("span", {}, (is_difference ? show_signed(high) : show(high)) + unit),
    element("span", {}, is_difference ? "second − first; the ends are the largest difference" : `${term.is_share && !log ? "fixed range" : "range of these heads"}${in_log ? ", logarithmic" : ""}`));
  formulas.set(d3.select(place).append("span").attr("class", "meaning"), term.meaning, true);
}

// Several selected labels show the heads that have any of them.
function draw_filters(place, redraw) {
  for (const { key, meaning, title, test } of head_choices) {
    const count = scan.heads.filter(test).length;
    if (!count) continue;
    const button = element("button", { class: "filter", "aria-pressed": map_state.labels.has(key), "data-label": key },
      element("strong", {}, String(count)), element("span", { class: "label" }, title), element("span", { class: "meaning" }, meaning));
    button.addEventListener("click", () => {
      if (!map_state.labels.delete(key)) map_state.labels.add(key);
      button.setAttribute("aria-pressed", map_state.labels.has(key));
      redraw();
    });
    place.append(button);
  }
}

const names_of = (labels) => labels.map((label) => in_words(label.name)).join(", ");
function describe_cell(head) {
  const { term } = map_state, values = versions(head).map((version) => show_spread(value_at(version, term))).join(" → ");
  const change = against ? ` (${show_signed(difference(head, term))})` : "";
  const moves = against ? [lost(head).length && `lost ${names_of(lost(head))}`, gained(head).length && `gained ${names_of(gained(head))}`].filter(Boolean) : [];
  return [`Head ${head_name(head)}`, `${term.title} ${values}${change}`, moves.join("; ") || names_of(head.labels) || "no label"];
}

const FILTERS = 280;
const most_heads = () => 1 + (d3.max(scan.heads, (head) => head.head) || 0);

function draw_cells(place, room, open) {
  const layers = d3.nest().key((head) => head.layer).entries(scan.heads).map((entry) => entry.values);
  return draw_grid(place, room, { label: "layers by heads", rows: layers.map((items) => ({ name: String(items[0].layer), items })), name_of: head_name, describe: describe_cell,
    current: map_state.current, walked: (head) => { map_state.current = head; }, open });
}

// Shares have the same number of digits in every cell.
function cell_text(value) {
  const { view, term } = map_state;
  if (value === null) return NOT_MEASURED;
  if (view !== DIFFERENCE) return term.is_share ? value.toFixed(2) : show(value);
  return term.is_share ? (value > 0 ? "+" : "") + value.toFixed(3).replace("-", "−") : show_signed(+value.toPrecision(2));
}

function paint_cells({ cells, with_values }) {
  const shade = map_shade();
  for (const [head, cell] of cells) {
    const value = map_value(head), colour_of_cell = value === null ? null : shade(value);
    cell.classList.toggle("dimmed", is_dimmed(head));
    cell.classList.toggle("empty", value === null);
    cell.style.background = colour_of_cell;
    cell.style.color = colour_of_cell && ink_on(colour_of_cell);
    if (with_values || value === null) cell.textContent = cell_text(value);
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
