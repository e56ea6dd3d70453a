// Prose, glossaries, and tables that sort and filter (report/page.hpp). All data enters as text.
"use strict";

// "0.5", "1e-12", "-inf", "12%", "0.98 ± 0.01"; not "004 sparsity".
const is_number = (text) => /^[-+]?(\d+\.?\d*|\.\d+|inf|nan)(e[-+]?\d+)?\s?%?(\s?±.*)?$/i.test(text);
const is_blank = (text) => !text || text === "–";
const value_of = (text) => (is_blank(text) ? -Infinity : parseFloat(text.replace("inf", "Infinity")));

function draw_prose(place, part) {
  if (part.heading) place.append("h2").text(part.heading);
  for (const text of part.paragraphs) formulas.set(place.append("p"), text);
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

// A click on a heading (or Enter) sorts by it, a second one reverses. Long tables can be filtered; in a card they initially
// show ten rows and what failed, and on a narrow screen each row becomes a block (page.css). If the part has a function
// `address`, the names in the first column link to what it returns; they keep their original order.
function draw_table(place, part, _room, in_card = false) {
  if (!part.columns.length) return;
  if (part.title) place.append("h3").text(part.title);
  const sorts = part.rows.length > 6, fold = in_card ? 10 : Infinity;
  const search = part.rows.length > 20 && !in_card &&
    place.append("input").attr("type", "search").attr("class", "filter").attr("placeholder", "Filter rows").attr("aria-label", "Filter rows");
  const table = place.append("div").attr("class", "scroll").append("table");
  const numeric = part.columns.map((_, c) => part.rows.length > 0 && !(c === 0 && part.address) && part.rows.every((row) => is_blank(row[c]) || is_number(row[c])));
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
      .each(function (cell, c) {
        const place = d3.select(this);
        if (c === 0 && in_card) formulas.set(place, cell);
        else if (c === 0 && part.address) place.append("a").attr("href", part.address(cell)).text(cell);
        else place.text(cell.replace(/ ± /g, "\u00a0±\u00a0"));  // one number, on one line
      });
  };
  const sort = (c) => {
    direction = sorted === c ? -direction : 1;
    sorted = c;
    const key = c === 0 && part.address ? (row) => part.rows.indexOf(row) : numeric[c] ? (row) => value_of(row[c]) : (row) => row[c] || "";
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
