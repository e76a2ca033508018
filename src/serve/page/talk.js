// The conversation: sends requests, and follows the turns one after the other.

import { follow, get, post } from "./api.js";
import { byId, trouble, untrouble } from "./dom.js";
import * as pictures from "./pictures.js";
import { Turn } from "./turn.js";

/** Turns that are shown; the history has all. */
const SHOWN_MAX = 40;
/** How often an idle page looks for turns of other tabs. */
const LOOK_MS = 4000;
const LOST = "The connection is lost; trying again. If the server was stopped, start it again with: monobloc serve --open";
/** The server says the same. */
const BUSY = "a request is being carried out; wait for its end or cancel it";

/** The turn that runs; `null` if none does. */
let running = null;
/** The newest turn that is shown. */
let newest = 0;
/** Whether a request was sent whose turn is not known yet, or turns are being shown one after the other. */
let busy = false;
const ends = new Set();

/** `act` is called after each turn that was followed live. */
export const onEnd = (act) => ends.add(act);

function allow() {
  byId("send").disabled = running !== null || busy;
  byId("cancel").disabled = running === null;
}

/** What scrolls the conversation: on a wide screen its own view, on a narrow one the page. */
function scroller() {
  const view = byId("talk");
  return getComputedStyle(view).overflowY === "auto" ? view : document.documentElement;
}

/** Does something that makes the conversation longer; if its end was in sight, it is in sight again. */
function keepingTheEnd(act, always = false) {
  const place = scroller();
  const atEnd = place.scrollTop + place.clientHeight >= place.scrollHeight - 80;
  act();
  if (atEnd || always) place.scrollTop = place.scrollHeight;
}

/** Shows a turn until it is over. What happened before `live` is shown without being read out. */
async function show(id, live) {
  const turn = new Turn(id);
  turn.live = live;
  turn.grow = keepingTheEnd;
  newest = Math.max(newest, id);
  byId("no-turns")?.remove();
  const place = byId("turns");
  keepingTheEnd(() => place.append(turn.node), live);
  while (place.children.length > SHOWN_MAX) place.firstElementChild.remove();
  try {
    await follow(id, (number, event) => keepingTheEnd(() => turn.take(number, event)), (connected) => (connected ? untrouble(LOST) : trouble(LOST)));
  } catch (error) {
    turn.end("");
    trouble(error.message);
  }
}

async function run(id) {
  running = id;
  allow();
  await show(id, true);
  running = null;
  allow();
  ends.forEach((act) => act());
}

/** Takes requests again. */
function rest() {
  busy = false;
  untrouble(BUSY);
  allow();
}

async function send(undo) {
  const field = byId("request");
  const text = field.value.trim();
  if (text === "") return;
  if (running !== null || busy) {
    trouble(BUSY);
    return;
  }
  if (text === "/undo") {
    field.value = "";
    undo();
    return;
  }
  busy = true;
  allow();
  // At once: what is written from now on belongs to the next request.
  field.value = "";
  let id;
  try {
    ({ id } = await post("/api/turns", { text, mode: byId("mode").value, pictures: await pictures.read() }));
    pictures.clear();
    trouble("");
  } catch (error) {
    field.value = [text, field.value].join("\n").trim();
    trouble(error.message);
  }
  if (id !== undefined) await run(id);
  rest();
}

export async function cancel() {
  if (running === null) return;
  try {
    await post(`/api/turns/${running}/cancel`);
  } catch (error) {
    trouble(error.message);
  }
}

/** Shows the turns that are not shown yet, oldest first, and goes on with the one that runs. */
async function catchUp(turns) {
  if (busy) return;
  busy = true;
  allow();
  for (const turn of turns.filter(({ id }) => id > newest)) {
    if (turn.running) await run(turn.id);
    else await show(turn.id, false);
  }
  rest();
}

/** Another tab may have begun a turn: there is one conversation for all. */
async function look() {
  if (busy || document.visibilityState !== "visible") return;
  // If it fails, the next request says why.
  const status = await get("/api/status").catch(() => null);
  if (status !== null) await catchUp(status.turns);
}

/** Shows the turns that there are, and takes requests; `/undo` is for `undo`, as in the terminal. */
export async function begin(turns, undo) {
  byId("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    send(undo);
  });
  byId("request").addEventListener("input", () => trouble(""));
  byId("request").addEventListener("keydown", (event) => {
    // While letters are composed, Enter ends the composition.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send(undo);
  });
  pictures.begin(byId("request"));
  byId("cancel").addEventListener("click", cancel);
  await catchUp(turns);
  setInterval(look, LOOK_MS);
}
