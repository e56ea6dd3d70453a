// Draws the page: facts and sentences, the map, the sections below; opens and closes the panel of a head.
"use strict";

const page_main = document.querySelector("main"), panel = document.querySelector("aside");
let cells = new Map(), open_head = null;

function draw_facts() {
  const header = document.querySelector("header"), sentences = scan.sentences.map((sentence) => element("p", { class: "sentence" }, sentence));
  if (!against) draw_fact_list(header, scan.facts);
  header.append(...sentences);
  if (against) draw_facts_of_both(header.appendChild(element("div")));
}

function mark_open() { for (const [head, cell] of cells) cell.classList.toggle("open", head === open_head); }

const [map_section, changed_section, lengths_section, alternatives_section, alike_section] = [1, 2, 3, 4, 5].map(() => page_main.appendChild(element("section")));
draw_changed_heads(changed_section);
for (const draw_section of [draw_theory, draw_layers, draw_heads, draw_rules, draw_meanings]) draw_section(page_main.appendChild(element("section")));

function show_head(head) {
  open_head = head;
  map_state.current = head;
  panel.hidden = false;
  document.body.classList.add("with-panel");
  hide_tooltip();
  fit();
  draw_head(panel, head, close_panel, show_head);
  mark_open();
  panel.scrollTop = 0;
  panel.focus({ preventScroll: true });
  history.replaceState(null, "", head_address(head_name(head)));
}

function close_panel() {
  if (panel.hidden) return;
  panel.hidden = true;
  document.body.classList.remove("with-panel");
  const head = open_head;
  open_head = null;
  fit();
  mark_open();
  if (cells.has(head)) cells.get(head).focus();
  hide_tooltip();
  history.replaceState(null, "", location.pathname + location.search);
}

// Links to a head, and addresses that name one.
function follow_address() {
  const named = heads_by_name.get((location.hash.match(/^#head=(\d+\.\d+)$/) || [])[1]);
  if (named) show_head(named);
}

// Drawings are made for the available width, and again when it changes.
let drawn_for = 0;
function fit() {
  if (Math.abs(page_main.clientWidth - drawn_for) < 1) return;
  drawn_for = page_main.clientWidth;
  map_section.replaceChildren();
  lengths_section.replaceChildren();
  for (const section of [alternatives_section, alike_section]) section.replaceChildren();
  if (scan.terms.length) cells = draw_map(map_section, drawn_for, show_head);
  draw_lengths(lengths_section, drawn_for);
  draw_alternatives(alternatives_section, drawn_for);
  draw_alike(alike_section, drawn_for);
  mark_open();
}
let waiting;
window.addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => { fit(); if (open_head) draw_head(panel, open_head, close_panel, show_head); }, 150);
});
is_dark.addEventListener("change", () => { drawn_for = 0; fit(); });
document.addEventListener("keydown", (event) => { if (event.key === "Escape") close_panel(); });
window.addEventListener("hashchange", follow_address);
window.addEventListener("scroll", hide_tooltip, { passive: true });
panel.tabIndex = -1;
panel.setAttribute("role", "region");
draw_facts();
fit();
follow_address();
