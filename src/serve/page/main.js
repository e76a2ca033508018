// Starts the page: hands in the key, shows the present state, and connects views and keys.

import { enter, get } from "./api.js";
import { byId, trouble } from "./dom.js";
import * as graph from "./graph.js";
import * as keys from "./keys.js";
import * as memory from "./memory.js";
import * as past from "./past.js";
import { decideFirst } from "./question.js";
import * as talk from "./talk.js";

const REFRESH = { code: graph.refresh, memory: memory.refresh, past: past.refresh };

/** Shows a view; on a wide screen the conversation stays beside it. */
function view(name, focused) {
  document.body.dataset.view = name;
  if (name !== "talk") document.body.dataset.side = name;
  for (const one of document.querySelectorAll("nav button")) {
    if (one.dataset.view === name) one.setAttribute("aria-current", "true");
    else one.removeAttribute("aria-current");
  }
  REFRESH[name]?.();
  if (focused) byId(focused).focus();
}

function undo() {
  view("past");
  past.undo();
}

const KEYS = [
  { key: "/", words: "write a request", act: () => view("talk", "request") },
  { key: "s", words: "search the code", act: () => view("code", "question") },
  { key: "g", words: "explore a symbol", act: () => view("code", "symbol") },
  { key: "m", words: "see the memory", act: () => view("memory") },
  { key: "h", words: "see the past", act: () => view("past") },
  { key: "y", words: "yes: the call that waits for consent may run", act: () => decideFirst("yes") },
  { key: "n", words: "no: it may not", act: () => decideFirst("no") },
  { key: "a", words: "always: this and what is like it, where offered", act: () => decideFirst("always") },
  { key: "u", words: "undo the last request that changed files", act: undo },
  { key: "Ctrl+.", words: "cancel the running request", act: talk.cancel, anywhere: true },
];

const ASKS = { never: "never asks", "on-destructive": "asks before it destroys something", "on-mutation": "asks before it changes something", always: "asks before every call" };

function about({ project, planner, version, approve }) {
  const file = planner.file ? `${planner.file}, ${planner.slots} slots of ${planner.context} tokens` : planner.missing;
  const model = planner.server ?? file;
  byId("project").textContent = `${version} in ${project} – ${model} – ${ASKS[approve] ?? approve}`;
}

async function begin() {
  for (const one of document.querySelectorAll("nav button")) one.addEventListener("click", () => view(one.dataset.view));
  keys.begin(KEYS);
  // A new address in a tab that is open changes its fragment alone.
  addEventListener("hashchange", () => {
    if (location.hash.startsWith("#key=")) location.reload();
  });
  try {
    await enter();
    const status = await get("/api/status");
    about(status);
    graph.begin();
    memory.begin();
    past.begin();
    talk.onEnd(past.refresh);
    talk.onEnd(memory.refresh);
    talk.onEnd(graph.refresh);
    if (status.turns.length === 0) byId("request").focus();
    await talk.begin(status.turns, undo);
  } catch (error) {
    trouble(error.message);
    for (const one of document.querySelectorAll("main :is(button, input, select, textarea)")) one.disabled = true;
  }
}

begin();
