// Draws the parts of a page (report/page.hpp) with D3. Everything the data says enters as text, never as markup.
"use strict";

// "0.5", "1e-12", "-inf", "12%", "0.98 ± 0.01"; not "004 sparsity".
const is_number = (text) => /^[-+]?(\d+\.?\d*|\.\d+|inf|nan)(e[-+]?\d+)?\s?%?(\s?±.*)?$/i.test(text);
const value_of = (text) => parseFloat(text.replace("inf", "Infinity"));

function draw_prose(place, part) {
  if (part.heading) place.append("h2").text(part.heading);
  for (const text of part.paragraphs) formulas.set(place.append("p"), text);
}

// Numbers that lead to the cards they count: the address says which (draw_cards reads it).
function draw_counts(place, part) {
  const boxes = place.append("div").attr("class", "counts").selectAll("a").data(part.counts).enter().append("a")
    .attr("href", (count) => `#${new URLSearchParams([[count.facet, count.value]])}`).attr("class", (count) => count.tone);
  boxes.append("strong").text((count) => count.number);
  boxes.append("span").attr("class", "label").text((count) => count.value);
  boxes.append("span").attr("class", "meaning").text((count) => count.meaning);
}

function draw_glossary(place, part) {
  if (part.heading) place.append("h2").text(part.heading);
  const list = place.append("dl").attr("class", "glossary");
  for (const entry of part.entries) {
    formulas.set(list.append("dt"), entry.label, true);
    const text = formulas.set(list.append("dd"), entry.text + (entry.address ? " " : ""), true);
    if (entry.address) text.append("a").attr("href", entry.address).text(entry.address.replace(/^\w+:\/\//, ""));
  }
}

// A click on a heading (or Enter) sorts by it, a second one reverses. Long tables can be filtered; in a card they show ten
// rows and what failed until asked for more, and on a narrow screen each row is set as a block (page.css).
function draw_table(place, part, _room, in_card = false) {
  if (!part.columns.length) return;
  if (part.title) place.append("h3").text(part.title);
  const sorts = part.rows.length > 6, fold = in_card ? 10 : Infinity;
  const search = part.rows.length > 20 && !in_card &&
    place.append("input").attr("type", "search").attr("class", "filter").attr("placeholder", "Filter rows").attr("aria-label", "Filter rows");
  const table = place.append("div").attr("class", "scroll").append("table");
  const numeric = part.columns.map((_, c) => part.rows.length > 0 && part.rows.every((row) => !row[c] || is_number(row[c])));
  let rows = part.rows.slice(), sorted = -1, direction = 1, open = rows.length <= fold + 3;
  const heads = table.append("thead").append("tr").selectAll("th").data(part.columns).enter().append("th")
    .attr("class", (_, c) => (numeric[c] ? "number" : "") + (sorts ? " sorts" : "")).attr("tabindex", sorts ? 0 : null)
    .text((name) => name);
  const body = table.append("tbody");
  const fill = () => {
    const wanted = search ? search.property("value").trim().toLowerCase() : "";
    body.selectAll("tr").remove();
    body.selectAll("tr").data(rows.filter((row) => row.join(" ").toLowerCase().includes(wanted))).enter().append("tr")
      .attr("class", (row, r) => (row.includes("fails") ? "fails" : r >= fold && !open ? "folded" : null))
      .selectAll("td").data((row) => part.columns.map((_, c) => row[c] || "")).enter().append("td")
      .attr("class", (_, c) => (numeric[c] ? "number" : null)).attr("data-column", (_, c) => part.columns[c])
      .each(function (cell, c) { c === 0 && in_card ? formulas.set(d3.select(this), cell) : d3.select(this).text(cell); });
  };
  const sort = (c) => {
    direction = sorted === c ? -direction : 1;
    sorted = c;
    const key = numeric[c] ? (row) => value_of(row[c] || "nan") : (row) => row[c] || "";
    rows.sort((a, b) => direction * (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
    heads.attr("aria-sort", (_, h) => (h !== c ? null : direction > 0 ? "ascending" : "descending"));
    fill();
  };
  if (sorts) heads.on("click", (_, c) => sort(c)).on("keydown", (_, c) => { if (d3.event.key === "Enter") sort(c); });
  if (search) search.on("input", fill);
  fill();
  if (open) return;
  const more = place.append("button").attr("class", "more").text(`all ${rows.length} rows`);
  more.on("click", () => { open = true; more.remove(); fill(); });
}

function draw_row(place, row, room) {
  const gap = 32, most = Math.max(1, Math.floor((room + gap) / (320 + gap)));
  const columns = Math.ceil(row.parts.length / Math.max(1, Math.ceil(row.parts.length / most)));  // no lonely last one
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

// The address keeps what was asked for, so that a filtered list can be sent to somebody.
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
  row: draw_row, cards: draw_cards,
};
const main = d3.select("main"), parts = JSON.parse(document.getElementById("parts").textContent);

// Drawn for the width there is, and again when it changes: text keeps its size on a phone.
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
