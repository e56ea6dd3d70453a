// Points animated from frame to frame in planes side by side (Frames of report/page.hpp), drawn with D3.
"use strict";

const FRAME_MILLISECONDS = 160;

// The points of one frame, without non-finite ones.
const points_in = (series, frame) => series.x[frame].map((x, i) => [x, series.y[frame][i]]).filter(([x, y]) => x !== null && y !== null);
const middle_of = (points) => [d3.mean(points, (p) => p[0]), d3.mean(points, (p) => p[1])];

// Returns a function that shows a frame. Scales cover all frames, so that only the points move.
function draw_plane(place, plane, part, room) {
  const width = Math.min(room, 460), height = 0.72 * width, left = 44, right = 10, top = 8, bottom = 38;
  const box = place.append("div").attr("class", "plot").style("max-width", `${width}px`);
  box.append("h3").text(plane.title);
  const svg = box.append("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("role", "img").attr("aria-label", plane.title);
  const all = plane.series.flatMap((series) => part.names.flatMap((_, frame) => points_in(series, frame)));
  const x = scale_for("linear", [0, ...all.map((p) => p[0])], [left, width - right]);
  const y = scale_for("linear", [0, ...all.map((p) => p[1])], [height - bottom, top]);
  svg.append("g").attr("transform", `translate(0,${height - bottom})`).call(d3.axisBottom(x).ticks(5).tickSizeOuter(0));
  svg.append("g").attr("transform", `translate(${left},0)`).call(d3.axisLeft(y).ticks(5).tickSizeOuter(0));
  svg.append("text").attr("x", (left + width - right) / 2).attr("y", height - 4).attr("text-anchor", "middle").text(part.x_label);
  svg.append("text").attr("transform", `translate(11,${(top + height - bottom) / 2}) rotate(-90)`).attr("text-anchor", "middle").text(part.y_label);
  const layers = plane.series.map((series, s) => ({
    series, middles: part.names.map((_, frame) => middle_of(points_in(series, frame))),
    trail: svg.append("path").attr("class", "trail").attr("stroke", colour(s)), dots: svg.append("g").attr("fill", colour(s)),
  }));
  const path = d3.line().defined((p) => p[0] !== undefined).x((p) => x(p[0])).y((p) => y(p[1]));
  return (frame) => layers.forEach(({ series, middles, trail, dots }) => {
    trail.attr("d", path(middles.slice(0, frame + 1)));
    const circles = dots.selectAll("circle").data(points_in(series, frame));
    circles.exit().remove();
    circles.enter().append("circle").attr("class", "dot").attr("r", 4).merge(circles).attr("cx", (p) => x(p[0])).attr("cy", (p) => y(p[1]));
  });
}

function draw_frames(place, part, room) {
  if (part.title) place.append("h2").text(part.title);
  const last = part.names.length - 1, player = place.append("div").attr("class", "player");
  const button = player.append("button").attr("type", "button").text("Play");
  const slider = player.append("input").attr("type", "range").attr("min", 0).attr("max", last).attr("step", 1).attr("aria-label", part.title);
  const name = player.append("output");
  const legend = place.append("div").attr("class", "legend");
  (part.planes[0] || { series: [] }).series.forEach((series, s) => {
    const entry = legend.append("span");
    entry.append("i").attr("class", "points").style("border-color", colour(s));
    entry.append("span").text(series.label);
  });
  const gap = 32, columns = Math.max(1, Math.min(part.planes.length, Math.floor((room + gap) / (300 + gap))));
  const grid = place.append("div").attr("class", "row").style("grid-template-columns", `repeat(${columns}, minmax(0, 1fr))`);
  const planes = part.planes.map((plane) => draw_plane(grid.append("div"), plane, part, (room - gap * (columns - 1)) / columns));
  let shown = last, timer = null;
  const show = (frame) => {
    shown = frame;
    slider.property("value", frame);
    name.text(part.names[frame]);
    planes.forEach((draw_frame) => draw_frame(frame));
  };
  const stop = () => { clearInterval(timer); timer = null; button.text("Play"); };
  const advance = () => (shown < last && slider.node().isConnected ? show(shown + 1) : stop());  // a redrawn page has other planes
  button.on("click", () => {
    if (timer !== null) { stop(); return; }
    if (shown === last) show(0);
    button.text("Pause");
    timer = setInterval(advance, FRAME_MILLISECONDS);
  });
  slider.on("input", function () { stop(); show(+this.value); });
  if (last >= 0) show(last);
}
