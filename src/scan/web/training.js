// The page of a training run: a slider of steps, the map of heads at one of them, curves of every head, and alarms.
"use strict";

const run = JSON.parse(document.getElementById("training").textContent);
const all_heads = run.layers.flatMap(([, heads], layer) => d3.range(heads).map((head) => ({ layer, head })));
const state = { term: Math.max(0, run.terms.findIndex((term) => term.name === "entropy")), step: run.steps.length - 1, head: null, current: all_heads[0] };
const page_main = document.querySelector("main");
const head_title = ({ layer, head }) => `${layer}.${head}`;
const curve_of = (head, term = state.term) => run.curves[term][head.layer][head.head] || [];
const value_now = (head) => { const value = curve_of(head)[state.step]; return value === undefined ? null : value; };
const alarms_of = (head) => run.alarms.filter(([, layer, of_head]) => layer === head.layer && of_head === head.head);
const alarm_text = ([kind, , , step, value, statistic]) => `${kind} at step ${step}: ${in_words(statistic)} ${show(value)}`;

// One range for all steps, so that colours can be compared.
function value_range() {
  const known = all_heads.flatMap((head) => curve_of(head)).filter((x) => x !== null), [low, high] = known.length ? d3.extent(known) : [0, 1];
  if (run.terms[state.term].is_share) return [0, 1];
  return low < high ? [Math.min(0, low), high] : [low - 0.5, high + 0.5];
}

function describe_head(head) {
  const alarms = alarms_of(head).map(alarm_text).join("; ");
  return [`Head ${head_title(head)} of ${run.layers[head.layer][0]}`, `${run.terms[state.term].title} ${show(value_now(head))} at step ${run.steps[state.step]}`, alarms];
}

function choose(head) { state.head = state.head === head ? null : head; redraw(); }
function go_to(step) {
  state.step = Math.max(0, Math.min(run.steps.length - 1, step));
  redraw();
}

function draw_step_controls(place) {
  const select = element("select", { id: "statistic" }, ...run.terms.map((term, i) => element("option", { value: i }, term.title)));
  select.value = state.term;
  select.addEventListener("change", () => { state.term = +select.value; redraw(); });
  const slider = element("input", { type: "range", id: "step", min: 0, max: run.steps.length - 1, value: state.step, "aria-label": "step" });
  slider.addEventListener("input", () => go_to(+slider.value));
  place.append(element("label", {}, "colour ", select), element("label", { class: "steps" }, "step ", slider, element("output", {})));
}

function paint(drawn) {
  const shade = d3.scaleSequential(d3.interpolateViridis).domain(value_range()).clamp(true), { is_share } = run.terms[state.term];
  for (const [head, cell] of drawn.cells) {
    const value = value_now(head), paint_of = value === null ? null : shade(value);
    cell.classList.toggle("empty", value === null);
    cell.classList.toggle("open", head === state.head);
    cell.classList.toggle("alarmed", alarms_of(head).some(([, , , step]) => step <= run.steps[state.step]));
    cell.style.background = paint_of;
    cell.style.color = paint_of && ink_on(paint_of);
    if (drawn.with_values) cell.textContent = value !== null && is_share ? value.toFixed(2) : show(value);
    cell.setAttribute("aria-label", describe_head(head).filter(Boolean).join(", "));
  }
}

function draw_legend(place) {
  const [low, high] = value_range(), term = run.terms[state.term], shades = element("span", { class: "shades" });
  shades.style.background = `linear-gradient(90deg,${d3.range(0, 1.01, 0.1).map(d3.interpolateViridis).join(",")})`;
  place.replaceChildren(element("span", {}, show(low)), shades, element("span", {}, `${show(high)} ${term.unit}`), element("span", {}, term.is_share ? "fixed range" : "range of all steps"),
    run.alarms.length ? element("span", {}, element("i", { class: "alarm-mark" }), "an alarm so far") : "");
  formulas.set(d3.select(place).append("span").attr("class", "meaning"), term.meaning, true);
}

const mean_known = (values) => { const known = values.filter((x) => x !== null && x !== undefined); return known.length ? d3.mean(known) : null; };
const layer_mean = (layer) => run.steps.map((_, s) => mean_known(d3.range(run.layers[layer][1]).map((head) => curve_of({ layer, head })[s])));
// A few layers use the colours of other plots, many a scale from the first to the last.
const layer_colour = (layer) => (run.layers.length <= 8 ? colour(layer) : d3.interpolateTurbo ? d3.interpolateTurbo(0.05 + (0.9 * layer) / (run.layers.length - 1)) : d3.interpolateViridis(layer / run.layers.length));

// One thin line per head, one thick line per layer mean; for a chosen head, its own line among those of its layer.
function draw_curves(place, room) {
  const term = run.terms[state.term], steps = run.steps, [low, high] = value_range(), chosen = state.head;
  place.replaceChildren(element("h2", {}, `${term.title[0].toUpperCase()}${term.title.slice(1)} by step`), element("p", { class: "note" }, chosen
    ? `Head ${head_title(chosen)} of ${run.layers[chosen.layer][0]} among the heads of its layer. Escape shows all layers.`
    : "A thin line for each head, a thick one for the mean of each layer. Choose a head in the map to see its own."));
  const box = frame(place, `${term.title} by step`, room, 300, [steps[0], Math.max(steps[0] + 1, steps[steps.length - 1])], high, term.unit || term.title, low);
  position_axis(box);
  const line = d3.line().defined((v) => v !== null).x((_, s) => box.x(steps[s])).y((v) => box.y(v));
  const draw_line = (kind, values, stroke) => box.svg.append("path").attr("class", `curve ${kind}`).style("stroke", stroke).attr("d", line(values));
  for (const head of all_heads) if (!chosen || chosen.layer === head.layer) draw_line("thin", curve_of(head), chosen ? null : layer_colour(head.layer));
  if (chosen) draw_line("chosen", curve_of(chosen), colour(1));
  else run.layers.forEach((_, layer) => draw_line("mean", layer_mean(layer), layer_colour(layer)));
  const cursor = box.svg.append("line").attr("class", "cursor").attr("y1", 8).attr("y2", box.base).attr("x1", box.x(steps[state.step])).attr("x2", box.x(steps[state.step]));
  const shown = run.alarms.filter(([, layer, head]) => !chosen || (layer === chosen.layer && head === chosen.head));
  box.svg.append("g").selectAll("path").data(shown).enter().append("path").attr("class", "special alarm")
    .attr("d", "M0,0L-4,-8L4,-8Z").attr("transform", ([, , , step]) => `translate(${box.x(step)},${box.base})`).append("title").text(alarm_text);
  const legend = element("div", { class: "legend" });
  if (!chosen && run.layers.length <= 8) run.layers.forEach((_, layer) => {
    const mark = element("i", { class: "measured" });
    mark.style.borderColor = layer_colour(layer);
    legend.append(element("span", {}, mark, `layer ${layer}`));
  });
  if (shown.length) legend.append(element("span", {}, element("i", { class: "special" }), "alarms"));
  const value = chosen ? value_now(chosen) : mean_known(all_heads.map(value_now));
  place.append(legend, element("p", { class: "readout", "aria-live": "polite" }, `step ${steps[state.step]}: ${chosen ? `head ${head_title(chosen)}` : "mean of all heads"} ${show(value)} ${term.unit}`));
  // Clicks and the arrow keys choose the step.
  box.svg.attr("tabindex", 0).on("click", function () {
    const at = box.x.invert(d3.mouse(this)[0]);
    go_to(d3.scan(steps, (a, b) => Math.abs(a - at) - Math.abs(b - at)));
  }).on("keydown", () => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[d3.event.key];
    if (!by) return;
    d3.event.preventDefault();
    go_to(state.step + by);
    page_main.querySelector(".curves svg").focus();
  });
  cursor.raise();
}

function draw_alarms(place) {
  if (!run.alarms.length) return;
  place.append(element("h2", {}, "Alarms"));
  draw_table(d3.select(place), { columns: ["step", "head", "layer", "kind", "statistic", "value"], address: (step) => `#step=${step}`,
    rows: run.alarms.map(([kind, layer, head, step, value, statistic]) => [String(step), layer === null ? String(head) : `${layer}.${head}`,
      layer === null ? NOT_MEASURED : run.layers[layer][0], kind, in_words(statistic), show(value)]) });
}

function draw_layer_names(place) {
  place.append(element("h2", {}, "Layers"));
  draw_table(d3.select(place), { columns: ["layer", "module", "heads"], rows: run.layers.map(([name, heads], layer) => [String(layer), name, String(heads)]) });
}

let redraw = () => {};
function draw_all() {
  const room = page_main.clientWidth, sections = d3.range(2).map(() => element("section")), [map, curves] = sections;
  if (!run.steps.length || !run.terms.length || !all_heads.length) return;
  const controls = element("div", { class: "choices" }), scroll = element("div", { class: "map-scroll" }), legend = element("div", { class: "legend range" });
  curves.classList.add("curves");
  map.append(controls, scroll, legend);
  document.querySelector(".drawn").replaceChildren(...sections);
  draw_step_controls(controls);
  const layers = run.layers.map((_, layer) => ({ name: String(layer), items: all_heads.filter((head) => head.layer === layer) })).filter(({ items }) => items.length);
  const drawn = draw_grid(scroll, room, { label: "layers by heads", rows: layers, name_of: head_title, describe: describe_head, current: state.current,
    walked: (head) => { state.current = head; }, open: choose });
  redraw = () => {
    controls.querySelector("#step").value = state.step;
    controls.querySelector("output").textContent = String(run.steps[state.step]);
    paint(drawn);
    draw_legend(legend);
    draw_curves(curves, room);
  };
  redraw();
}

// An address that names a step, as the alarms do: goes to the nearest step that the page contains.
function follow_step() {
  const wanted = (location.hash.match(/^#step=(\d+)$/) || [])[1];
  if (wanted !== undefined && run.steps.length) go_to(d3.scan(run.steps, (a, b) => Math.abs(a - wanted) - Math.abs(b - wanted)));
}

document.querySelector("header").append(...run.sentences.map((sentence) => element("p", { class: "sentence" }, sentence)));
page_main.append(element("div", { class: "drawn" }));
draw_all();
for (const draw_section of [draw_alarms, draw_layer_names]) draw_section(page_main.appendChild(element("section")));
draw_glossary(d3.select(page_main.appendChild(element("section"))), { heading: "What the numbers mean", entries: [
  ...run.terms.map((term) => ({ label: term.title + (term.unit ? ` (${term.unit})` : ""), text: term.meaning })),
  { label: "step", text: "One step of the optimiser; a number is the mean over the rows of all its forward passes, of the largest score the maximum." },
  { label: "alarm", text: "Collapse: the normalised entropy of a head fell below a threshold. Dispersion: that of a head which was focused rose above one. NaN: a number of it is none." }] });
document.addEventListener("keydown", (event) => { if (event.key === "Escape" && state.head) { state.head = null; redraw(); } });
window.addEventListener("hashchange", follow_step);
window.addEventListener("scroll", hide_tooltip, { passive: true });
let waiting, drawn_width = page_main.clientWidth;
window.addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => { if (page_main.clientWidth !== drawn_width) { drawn_width = page_main.clientWidth; draw_all(); } }, 150);
});
follow_step();
