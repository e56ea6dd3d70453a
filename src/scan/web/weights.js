// Individual weights: the tile at the end of the window, the heaviest keys of some rows, and which heads look alike.
"use strict";

// The token at a position of a text, if the page contains it.
const named_token = (text, position) => (text === null ? undefined : text.named[position]);
function box_of(text, position) {
  const token = named_token(text, position);
  return token === undefined ? null : token_box(token, is_special(text, position));
}

function draw_tile(place, head, room) {
  const matrices = versions(head).map(({ tile }) => unpack(tile));
  with_log_colours(place, matrices, (box, colours) => {
    versions(head).forEach((version, i) => {
      const { first_row, first_key } = version.tile, weights = matrices[i];
      if (!weights.length) return;
      const rows = weights.map((row, r) => {
        const [begin, end] = visible_keys(layer_of(version), first_row + r, layer_of(version).keys);
        return row.map((v, c) => (first_key + c >= begin && first_key + c < end ? v : null));
      });
      const token = (text, position) => { const found = named_token(text, position); return found === undefined ? "" : ` “${found}”`; };
      draw_heat_map(d3.select(box), { title: result_name(version.from), rows, ...colours, ...axis_names(version),
        row_names: rows.map((_, r) => String(first_row + r)), column_names: rows[0].map((_, c) => String(first_key + c)),
        describe: (r, c, v) => `${first_row + r}${token(text_of_rows(version), first_row + r)} gives ${first_key + c}${token(text_of_keys(version), first_key + c)} the weight ${show(v)}` }, Math.min(room, 460));
    });
  });
}

// Each row is a collapsible element; the first is open.
function draw_rows(place, head) {
  for (const version of versions(head)) {
    if (against && version.rows.length) place.append(element("h4", {}, result_name(version.from)));
    version.rows.forEach(([position, rest, keys], i) => {
      const sink = 1 - rest - d3.sum(keys, ([, weight]) => weight);
      const drawer = element("details", { class: "exact-row" }, element("summary", {}, `row ${position} `, box_of(text_of_rows(version), position)));
      const list = element("ol");
      for (const [key, weight] of keys) {
        const bar = element("i");
        bar.style.width = `${100 * weight}%`;
        bar.style.background = colour(results.indexOf(version.from));
        list.append(element("li", {}, element("span", { class: "weight" }, show(weight)), element("span", { class: "where" }, `${key} `, box_of(text_of_keys(version), key)), element("span", { class: "gauge" }, bar)));
      }
      drawer.append(list, element("p", { class: "note" }, `all other keys: ${show(rest)}${sink > 1e-3 ? `; the sink, which is no key: ${show(sink)}` : ""}`));
      drawer.open = i === 0;
      place.append(drawer);
    });
  }
}

// The matrix of a layer from its upper triangle.
function similarities_of(result, l) {
  const numbers = unpack_numbers(result.layers[l].similarities), heads = result.layers[l].heads;
  if (!numbers.length) return [];
  const rows = d3.range(heads).map(() => Array(heads).fill(1));
  d3.range(heads).forEach((a) => d3.range(a + 1, heads).forEach((b) => { rows[a][b] = rows[b][a] = numbers.shift(); }));
  return rows;
}

const alike_state = { layer: null };
function draw_alike(place, room) {
  const measured = scan.layers.map((_, l) => l).filter((l) => results.some((result) => result.layers[l].similarities));
  if (!measured.length) return;
  if (alike_state.layer === null) alike_state.layer = measured[0];
  const select = element("select", { id: "alike-layer" }, ...measured.map((l) => element("option", { value: l }, `layer ${l}`))), box = element("div", { class: "row" });
  const columns = results.length > 1 && room >= 700 ? 2 : 1;
  box.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
  const draw_it = () => {
    const l = alike_state.layer;
    box.replaceChildren();
    for (const result of results) {
      const rows = similarities_of(result, l), names = rows.map((_, h) => `${l}.${h}`);
      if (rows.length) draw_heat_map(d3.select(box).append("div"), { title: result_name(result), rows, low: 0, high: 1, x_label: "head", y_label: "head", row_names: names, column_names: names,
        describe: (r, c, v) => `heads ${names[r]} and ${names[c]}: similarity ${show(v)}` }, Math.min(420, (room - 32 * (columns - 1)) / columns));
    }
  };
  select.value = alike_state.layer;
  select.addEventListener("change", () => { alike_state.layer = +select.value; draw_it(); });
  place.append(element("h2", {}, "Heads that look alike"), element("p", {}, "Similarity of the weights of two heads in the same sampled rows: 1 when they are the same, 0 when they share no key."),
    element("div", { class: "choices" }, element("label", {}, "of ", select)), box);
  draw_it();
}
