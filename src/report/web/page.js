// Draws the parts of a page (report/page.hpp) with D3. All data enters as text, never as markup.
"use strict";

// Numbers that link to the cards they count: the address holds the filter (draw_cards reads it).
function draw_counts(place, part) {
  const boxes = place.append("div").attr("class", "counts").selectAll("a").data(part.counts).enter().append("a")
    .attr("href", (count) => `#${new URLSearchParams([[count.facet, count.value]])}`).attr("class", (count) => count.tone);
  boxes.append("strong").text((count) => count.number);
  boxes.append("span").attr("class", "label").text((count) => count.value);
  boxes.append("span").attr("class", "meaning").text((count) => count.meaning);
}

function draw_row(place, row, room) {
  const gap = 32, most = Math.max(1, Math.floor((room + gap) / (320 + gap)));
  const columns = Math.ceil(row.parts.length / Math.max(1, Math.ceil(row.parts.length / most)));  // avoids a single part in the last row
  const box = place.append("div").attr("class", "row").style("grid-template-columns", `repeat(${columns}, minmax(0, 1fr))`);
  for (const part of row.parts) draw[part.kind](box.append("div"), part, (room - gap * (columns - 1)) / columns);
}

function draw_card(place, card, room) {
  const head = place.append("div").attr("class", "head");
  head.append("span").attr("class", "title").text(card.title);
  head.append("span").attr("class", `mark ${card.tone}`).text(card.mark);
  head.append("span").attr("class", "facets").text([card.origin, ...card.facets].filter((facet) => facet && facet !== card.mark).join(" · "));
  if (card.text) formulas.set(place.append("p").attr("class", "text"), card.text);
  if (card.facts.length) {
    const list = place.append("dl");
    for (const [label, text] of card.facts) { list.append("dt").text(label); formulas.set(list.append("dd"), text); }
  }
  const body = place.append("div").attr("class", "body");
  if (card.numbers.rows.length) draw_table(body.append("div"), card.numbers, room, true);
  for (const plot of card.plots) draw_plot(body, plot, Math.min(room, 400));
}

// The address stores the filters, so that a filtered list can be shared.
function draw_cards(place, list, room) {
  const controls = place.append("div").attr("class", "controls");
  const search = controls.append("input").attr("type", "search").attr("placeholder", "Search").attr("aria-label", "Search");
  const choices = list.facets.map((facet, f) => {
    const values = Array.from(new Set(list.cards.map((card) => card.facets[f])));
    const select = controls.append("select").attr("aria-label", facet);
    select.append("option").attr("value", "").text(`every ${facet}`);
    for (const value of values) select.append("option").attr("value", value).text(value);
    return select;
  });
  const count = controls.append("span").attr("class", "count");
  const cards = place.append("div").selectAll("div").data(list.cards).enter().append("div").attr("class", "card")
    .each(function (card) { draw_card(d3.select(this), card, room); });
  const none = place.append("p").attr("class", "none").text("Nothing matches.").style("display", "none");
  const words = new Map(list.cards.map((card) =>
    [card, [card.title, card.text, card.origin, ...card.facets, ...card.facts.flat(), ...card.numbers.rows.map((row) => row[0])].join(" ").toLowerCase()]));
  const filter = () => {
    const wanted = search.property("value").trim().toLowerCase();
    const matches = (card) => words.get(card).includes(wanted) &&
      choices.every((choice, f) => !choice.property("value") || card.facets[f] === choice.property("value"));
    cards.style("display", (card) => (matches(card) ? null : "none"));
    const shown = list.cards.filter(matches).length;
    count.text(`${shown} of ${list.cards.length}`);
    none.style("display", shown ? "none" : null);
    const state = new URLSearchParams();
    if (wanted) state.set("search", wanted);
    choices.forEach((choice, f) => { if (choice.property("value")) state.set(list.facets[f], choice.property("value")); });
    history.replaceState(null, "", state.toString() ? `#${state}` : location.pathname + location.search);
  };
  const ask = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    search.property("value", asked.get("search") || "");
    choices.forEach((choice, f) => choice.property("value", asked.get(list.facets[f]) || ""));
    filter();
  };
  search.on("input", filter);
  choices.forEach((choice) => choice.on("change", filter));
  window.onhashchange = () => { ask(); place.node().scrollIntoView(); };
  ask();
}

const draw = {
  prose: draw_prose, counts: draw_counts, glossary: draw_glossary, table: draw_table, plot: draw_plot, heat_map: draw_heat_map,
  row: draw_row, frames: draw_frames, cards: draw_cards,
};
const main = d3.select("main"), parts = JSON.parse(document.getElementById("parts").textContent);

// Drawn for the available width, and again when it changes: text keeps its size on a phone.
let drawn_for = 0;
function draw_page() {
  const room = main.node().clientWidth;
  if (Math.abs(room - drawn_for) < 1) return;
  drawn_for = room;
  main.selectAll("section").remove();
  for (const part of parts) draw[part.kind](main.append("section"), part, room);
}
let waiting;
window.addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(draw_page, 150); });
draw_page();
