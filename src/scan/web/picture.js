// The input picture of an image model, each patch as bright as its weight.
"use strict";

function draw_patches(place, head, room) {
  for (const version of versions(head)) {
    const { picture } = version.from;
    if (!version.patches || !picture) continue;
    if (against) place.append(element("h4", {}, result_name(version.from)));
    const highest = d3.max(version.patches) || 1, side = Math.min(room, 420) / picture.columns, height = side * picture.rows;
    const reading = element("p", { class: "note", "aria-live": "polite" }, `the heaviest patch: ${show(highest)}; an equal share: ${show(1 / version.patches.length)}`);
    const svg = d3.select(place).append("svg").attr("class", "patches").attr("viewBox", `0 0 ${side * picture.columns} ${height}`)
      .attr("width", side * picture.columns).attr("role", "img").attr("aria-label", "the picture's patches and their weights");
    svg.append("image").attr("href", picture.source).attr("width", side * picture.columns).attr("height", height).attr("preserveAspectRatio", "none");
    const place_of = (i) => [i % picture.columns, Math.floor(i / picture.columns)];
    svg.append("g").selectAll("rect").data(version.patches).enter().append("rect").attr("class", "patch")
      .attr("x", (_, i) => place_of(i)[0] * side).attr("y", (_, i) => place_of(i)[1] * side).attr("width", side).attr("height", side)
      .attr("fill-opacity", (weight) => 0.85 * (1 - weight / highest));
    const mark = svg.append("rect").attr("class", "picked").attr("width", side).attr("height", side).attr("visibility", "hidden");
    let at = d3.scan(version.patches, (a, b) => b - a);
    const read = (i) => {
      at = Math.max(0, Math.min(version.patches.length - 1, i));
      const [column, row] = place_of(at);
      mark.attr("x", column * side).attr("y", row * side).attr("visibility", "visible");
      reading.textContent = `patch in row ${row}, column ${column}: ${show(version.patches[at])}`;
    };
    svg.attr("tabindex", 0).on("focus", () => read(at))
      .on("mousemove", function () { const [x, y] = d3.mouse(this); read(Math.floor(y / side) * picture.columns + Math.floor(x / side)); })
      .on("keydown", () => {
        const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -picture.columns, ArrowDown: picture.columns }[d3.event.key];
        if (step) { d3.event.preventDefault(); read(at + step); }
      });
    place.append(reading);
  }
}
