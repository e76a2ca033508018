// The conversation: sends requests, and follows the turns one after the other.

import { follow, post } from "./api.js";
import { byId, trouble } from "./dom.js";
import { Turn } from "./turn.js";

/** Turns that are shown; the history has all. */
const SHOWN_MAX = 40;

/** The turn that runs; `null` if none does. */
let running = null;
const ends = new Set();

/** `act` is called after each turn that was followed live. */
export const onEnd = (act) => ends.add(act);

function allow() {
  byId("send").disabled = running !== null;
  byId("cancel").disabled = running === null;
}

/** Shows a turn until it is over. What happened before `live` is shown without being read out. */
async function show(id, live) {
  const turn = new Turn(id);
  turn.live = live;
  byId("no-turns")?.remove();
  const place = byId("turns");
  place.append(turn.node);
  while (place.children.length > SHOWN_MAX) place.firstElementChild.remove();
  try {
    await follow(id, (number, event) => {
      const atEnd = window.innerHeight + window.scrollY >= document.body.scrollHeight - 80;
      turn.take(number, event);
      if (atEnd) window.scrollTo(0, document.body.scrollHeight);
    }, (connected) => trouble(connected ? "" : "The connection is lost; trying again."));
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

async function send() {
  const field = byId("request");
  const text = field.value.trim();
  if (text === "" || running !== null) return;
  try {
    const { id } = await post("/api/turns", { text, mode: byId("mode").value });
    field.value = "";
    trouble("");
    await run(id);
  } catch (error) {
    trouble(error.message);
  }
}

export async function cancel() {
  if (running === null) return;
  try {
    await post(`/api/turns/${running}/cancel`);
  } catch (error) {
    trouble(error.message);
  }
}

/** Shows the turns that there are, oldest first, and goes on with the one that runs. */
export async function begin(turns) {
  byId("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  byId("request").addEventListener("keydown", (event) => {
    // While letters are composed, Enter ends the composition.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  });
  byId("cancel").addEventListener("click", cancel);
  allow();
  for (const turn of turns) {
    if (turn.running) await run(turn.id);
    else await show(turn.id, false);
  }
}
