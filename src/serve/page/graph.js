// Explores the code: search, a symbol's callers and callees, and what a change of it may break, as a drawing and as a list.

import { get } from "./api.js";
import { ago, button, byId, draw, el, scrolled, short } from "./dom.js";

const COLUMN = 210;
const ROW = 34;
const BOX = { width: 170, height: 24 };
const TITLES = { callers: "Callers of", callees: "Called by", impact: "May break with a change of" };

const say = (text) => { byId("code-state").textContent = text; };
const show = (...nodes) => byId("code-result").replaceChildren(...nodes);

/** The number of the newest question: an answer to an older one is not shown. */
let asked = 0;

async function ask(path, words, display) {
  asked += 1;
  const own = asked;
  say(`${words} …`);
  try {
    const answer = await get(path);
    if (own === asked) display(answer);
    // Answering the question has brought the index up to date.
    await refresh();
  } catch (error) {
    if (own === asked) say(error.message);
  }
}

function hit(found) {
  const lines = `${found.path}:${found.start}`;
  const title = found.symbol ? `${found.symbol} (${lines})` : lines;
  const open = found.symbol ? button(title, () => explore(`${found.path}:${found.start}`, "callers"), { class: "link" }) : title;
  const parts = Object.entries(found.parts).map(([name, value]) => `${name} ${value.toFixed(3)}`).join(", ");
  return el("li", {}, open, el("span", { class: "quiet" }, ` ${found.kind ?? ""} score ${found.score.toFixed(3)}: ${parts}`),
    el("details", {}, el("summary", {}, "Lines"), scrolled(`Lines of ${lines}`, el("code", {}, found.snippet))));
}

function search(question) {
  ask(`/api/search?q=${encodeURIComponent(question)}`, "Searching", ({ hits, notes }) => {
    say(`${hits.length} places found.`);
    show(...notes.map((note) => el("p", { class: "quiet" }, note)), el("ol", { class: "plain" }, ...hits.map(hit)));
  });
}

/** Places of the symbols: a column for each step, the start in the first. */
function placed(symbol, rows) {
  const places = new Map([[symbol, { column: 0, row: 0, name: symbol.split("::").pop() }]]);
  const counts = [1];
  for (const one of rows) {
    if (places.has(one.symbol)) continue;
    counts[one.steps] = (counts[one.steps] ?? 0) + 1;
    places.set(one.symbol, { column: one.steps, row: counts[one.steps] - 1, name: one.name, title: `${one.kind} at ${one.path}:${one.start}` });
  }
  return { places, columns: counts.length, rows: Math.max(...counts.map((count) => count ?? 0)) };
}

function drawing(symbol, view, rows) {
  const { places, columns, rows: deepest } = placed(symbol, rows);
  const size = `0 0 ${columns * COLUMN} ${deepest * ROW + 12}`;
  const label = `${rows.length} symbols in ${columns - 1} steps around ${symbol}; the list below names them`;
  const picture = draw("svg", { class: "drawing", viewBox: size, role: "img", "aria-label": label });
  const at = ({ column, row }) => ({ x: 8 + column * COLUMN, y: 8 + row * ROW });
  for (const one of rows) {
    const near = places.get(one.by ?? symbol) ?? places.get(symbol);
    const [from, to] = [at(near), at(places.get(one.symbol))];
    const [x1, y1, x2, y2] = [from.x + BOX.width, from.y + BOX.height / 2, to.x, to.y + BOX.height / 2];
    picture.append(draw("path", { class: "edge", d: `M${x1} ${y1} C${x1 + 25} ${y1} ${x2 - 25} ${y2} ${x2} ${y2}` }, draw("title", {}, `${one.edge} at line ${one.line}, ${one.reason}`)));
  }
  for (const [handle, place] of places) {
    const { x, y } = at(place);
    const box = draw("g", { class: "pick" },
      draw("rect", { x, y, width: BOX.width, height: BOX.height, rx: 4, class: handle === symbol ? "box start" : "box" }),
      draw("text", { x: x + 6, y: y + 16 }, short(place.name, 24)),
      draw("title", {}, place.title ? `${handle}, ${place.title}` : handle));
    // For the mouse; the list below has the same as buttons.
    box.addEventListener("click", () => explore(handle, view));
    picture.append(box);
  }
  return picture;
}

function row(one, view) {
  const open = button(one.symbol, () => explore(one.symbol, view), { class: "link" });
  const steps = one.steps > 1 ? `, ${one.steps} steps, by ${one.by}` : "";
  return el("li", {}, open, el("span", { class: "quiet" }, ` ${one.kind}, ${one.edge} at line ${one.line}${steps}; ${one.confidence.toFixed(2)} ${one.reason}`));
}

function unclear({ unclear: why, names }, view) {
  say(why);
  const entry = (name) => el("li", {}, button(name.symbol, () => explore(name.symbol, view), { class: "link" }), name.place ? ` ${name.place}` : null);
  show(el("ul", { class: "plain" }, ...names.map(entry)));
}

function explored(answer, view) {
  if (answer.unclear !== undefined) {
    unclear(answer, view);
    return;
  }
  const { symbol, place, rows, more, unknown, unknown_more: unknownMore } = answer;
  say(`${TITLES[view]} ${symbol}${place ? `, ${place}` : ""}: ${rows.length + more}`);
  const nodes = rows.length > 0 ? [drawing(symbol, view, rows)] : [];
  nodes.push(el("ol", { class: "plain" }, ...rows.map((one) => row(one, view))));
  if (more > 0) nodes.push(el("p", { class: "quiet" }, `${more} more are not shown.`));
  if (unknown.length > 0) {
    const title = view === "callees" ? "Calls with unknown targets" : "Perhaps also called at";
    nodes.push(el("h3", {}, title), el("ul", { class: "plain" }, ...unknown.map((one) => el("li", {}, `${one.path}:${one.line} ${one.name}: ${one.unknown}`))));
  }
  if (unknownMore > 0) nodes.push(el("p", { class: "quiet" }, `${unknownMore} more such places.`));
  show(...nodes);
}

function indexWords({ made, files, symbols, chunks, changed, gone, unfinished, age_s: age }) {
  if (!made) return "There is no index yet: the first request or search makes it.";
  const written = age === null ? "" : `, written ${ago(age)}`;
  const covers = `Index: ${files} files, ${symbols} symbols, ${chunks} chunks${written}`;
  if (changed + gone === 0 && !unfinished) return `${covers}; up to date.`;
  const last = unfinished ? "; the last run did not finish" : "";
  return `${covers}; stale: ${changed} files new or changed since, ${gone} gone${last}. The next request or search reads them.`;
}

/** Says what the index covers and whether it is up to date. */
export async function refresh() {
  const place = byId("index-state");
  try {
    place.textContent = indexWords(await get("/api/index"));
  } catch (error) {
    place.textContent = error.message;
  }
}

/** Shows a symbol's callers, callees or impact. */
export function explore(symbol, view) {
  byId("symbol").value = symbol;
  const path = `/api/graph?symbol=${encodeURIComponent(symbol)}&view=${view}`;
  ask(path, "Reading the graph", (answer) => explored(answer, view));
}

export function begin() {
  refresh();
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    const question = byId("question").value.trim();
    if (question !== "") search(question);
  });
  byId("explore").addEventListener("submit", (event) => {
    event.preventDefault();
    const symbol = byId("symbol").value.trim();
    if (symbol !== "") explore(symbol, event.submitter?.value ?? "callers");
  });
}
