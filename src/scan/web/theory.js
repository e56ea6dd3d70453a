// Closed-form predictions for the heads, next to the measurements.
"use strict";

function draw_theory(place) {
  const { columns, rows, noise } = scan.theory;
  if (!rows.length) return;
  place.classList.add("heads");
  place.append(element("h2", {}, "Theory"), element("p", {}, `Scores of ${rows.filter((row) => row.phase === "spread").length} of ${rows.length} heads are spread below the freezing point, ` +
    `and those of ${rows.filter((row) => row.is_gaussian).length} look Gaussian (|skewness| < 0.5, |excess kurtosis| < 1), which is when the closed forms hold.` +
    (noise ? ` Noise on the scores: ${noise}.` : "")));
  draw_table(d3.select(place), { columns: ["head", "phase", "Gaussian", ...columns.map((column) => column.title)], address: head_address,
    rows: rows.map((row, i) => [head_name(scan.heads[i]), row.phase, row.is_gaussian ? "yes" : "no", ...row.values.map(show)]) });
  draw_glossary(d3.select(place), { heading: "", entries: columns.map((column) => ({ label: column.title, text: column.meaning })) });
}
