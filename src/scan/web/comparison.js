// Only in comparisons: the facts of both models, and the heads whose labels changed.
"use strict";

// Equal facts in one line, different ones side by side.
function draw_facts_of_both(place) {
  const labels = [...new Set(results.flatMap(({ facts }) => facts.map(([label]) => label)))];
  const fact = (result, label) => (result.facts.find(([name]) => name === label) || ["", NOT_MEASURED])[1];
  const rows = labels.map((label) => [label, ...results.map((result) => fact(result, label))]);
  place.classList.add("facts-of-both");
  draw_fact_list(place, rows.filter(([, first, second]) => first === second));
  draw_table(d3.select(place), { columns: ["", ...scan.names], rows: rows.filter(([, first, second]) => first !== second) });
}

function draw_changed_heads(place) {
  if (!against || !scan.changed.length) return;
  place.classList.add("heads");
  place.append(element("h2", {}, "Heads whose labels changed"), element("p", {}, "The change of a head is the largest difference among its numbers that are shares, " +
    "from 0 to 1, and its retrieval score."));
  const entropy = term_named("entropy"), both = (head, term) => versions(head).map((version) => show(value_at(version, term)[0])).join(" → ");
  draw_table(d3.select(place), { columns: ["head", "change", "lost", "gained", ...(entropy ? ["entropy, nats"] : [])], address: head_address,
    rows: scan.changed.map(([index, change]) => {
      const head = scan.heads[index];
      return [head_name(head), show(change), names_of(lost(head)), names_of(gained(head)), ...(entropy ? [both(head, entropy)] : [])];
    }) });
}
