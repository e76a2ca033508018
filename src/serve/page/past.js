// The past: the turns of the project, its checkpoints, and the way back.

import { get, post } from "./api.js";
import { button, byId, el, moment, seconds, short } from "./dom.js";

/** Characters of a request that are shown. */
const REQUEST_MAX = 300;

const say = (...nodes) => byId("past-state").replaceChildren(...nodes);
const words = ({ created, changed, deleted }) => `${created} created, ${changed} changed, ${deleted} deleted`;

function turn(one) {
  const [created, changed, deleted] = one.files;
  const title = el("span", { class: one.undone ? "undone" : "" }, short(one.request, REQUEST_MAX));
  const about = `${moment(one.time)}${one.undone ? ", taken back" : ""}${one.checkpoint ? `, ${one.checkpoint}: ${words({ created, changed, deleted })}` : ""}`;
  const calls = one.calls.map((call) => el("li", {}, `${call.tool} ${call.status} (${call.decision}), ${seconds(call.wall_ms)}: ${call.summary}`));
  const inside = calls.length > 0 ? [el("ul", {}, ...calls)] : [];
  inside.push(el("p", {}, one.answer ?? "It did not end."));
  return el("li", {}, title, el("p", { class: "quiet" }, about), el("details", {}, el("summary", {}, "Calls and answer"), ...inside));
}

function checkpoint(one) {
  const since = one.before === "turn" ? `, ${words(one)} since` : "";
  const back = button(`Go back to ${one.checkpoint}`, () => goBack("/api/rewind", { checkpoint: one.checkpoint }));
  return el("li", {}, el("p", {}, `${one.checkpoint}, before: ${short(one.request, REQUEST_MAX)}`), el("p", { class: "quiet" }, `${moment(one.time)}${since}`), back);
}

function went({ rewound, notes }) {
  const none = rewound.left.length === 0 ? "no file differed" : "no file was restored";
  const files = rewound.restored.slice(0, 20).join(", ") || none;
  const left = rewound.left.map(([path, why]) => el("p", {}, `Left: ${path}: ${why}`));
  const again = button("Undo this", () => goBack("/api/rewind", { checkpoint: rewound.safety }));
  say(el("p", {}, `Back at ${rewound.checkpoint}: ${files}.`), ...left, ...notes.map((note) => el("p", {}, note)), again);
}

function undecided(path, body, files) {
  say(
    el("p", {}, `Changed outside monobloc meanwhile: ${files.slice(0, 20).join(", ")}. Nothing was changed yet.`),
    el("div", { class: "row" },
      button("Overwrite these files", () => goBack(path, { ...body, foreign: "overwrite" })),
      button("Keep them, take back the others", () => goBack(path, { ...body, foreign: "keep" })),
      button("Do nothing", () => say())));
}

async function goBack(path, body) {
  say(el("p", {}, "Going back …"));
  try {
    const answer = await post(path, body);
    if (answer.undecided) undecided(path, body, answer.undecided);
    else went(answer);
  } catch (error) {
    say(el("p", { class: "trouble" }, error.message));
  }
  await refresh();
}

export const undo = () => goBack("/api/undo", {});

/** Reads turns and checkpoints anew. */
export async function refresh() {
  try {
    const [{ turns }, { checkpoints }] = await Promise.all([get("/api/history"), get("/api/checkpoints")]);
    byId("history").replaceChildren(...(turns.length > 0 ? turns.map(turn) : [el("li", { class: "quiet" }, "Nothing was asked yet.")]));
    byId("checkpoints").replaceChildren(...(checkpoints.length > 0 ? checkpoints.map(checkpoint) : [el("li", { class: "quiet" }, "No checkpoint yet; the first is made before the first change.")]));
  } catch (error) {
    say(el("p", { class: "trouble" }, error.message));
  }
}

export function begin() {
  byId("undo").addEventListener("click", undo);
  byId("refresh-past").addEventListener("click", refresh);
  refresh();
}
