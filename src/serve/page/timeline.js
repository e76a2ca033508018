// Draws the model calls of a turn, one below the other: waiting, reading the prompt, writing.

import { draw, el, seconds } from "./dom.js";

const PARTS = [
  ["queue_ms", "waits for a slot", 5],
  ["prompt_ms", "reads the prompt", 0],
  ["decode_ms", "writes", 1],
];
const ROW = 22;
const WIDTH = 640;
const LEFT = 190;
/** Calls that are drawn; the table has all. */
const DRAWN_MAX = 40;

const took = (call) => PARTS.reduce((sum, [name]) => sum + call[name], 0);

function drawing(calls) {
  // The calls of a turn follow each other; the events do not say when each began, only its duration.
  const all = Math.max(1, calls.reduce((sum, call) => sum + took(call), 0));
  const scale = (WIDTH - LEFT) / all;
  const height = calls.length * ROW + 8;
  const label = `${calls.length} model calls one after the other, ${seconds(all)} together`;
  const picture = draw("svg", { class: "drawing", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": label });
  let begun = 0;
  calls.forEach((call, row) => {
    const top = 4 + row * ROW;
    picture.append(draw("text", { x: 6, y: top + 14 }, call.phase.slice(0, 28)));
    for (const [name, what, kind] of PARTS) {
      const width = call[name] * scale;
      const bar = draw("rect", { x: LEFT + begun, y: top + 3, width: Math.max(width, call[name] > 0 ? 0.5 : 0), height: ROW - 8, class: `part kind${kind}` });
      bar.append(draw("title", {}, `${call.phase}: ${what}, ${seconds(call[name])}`));
      picture.append(bar);
      begun += width;
    }
  });
  return picture;
}

function table(calls) {
  const heads = ["purpose", "model", "prompt", "cached", "written", "guessed", ...PARTS.map(([, what]) => what)];
  const head = el("tr", {}, ...heads.map((text) => el("th", { scope: "col" }, text)));
  const rows = calls.map((call) => el("tr", {},
    el("th", { scope: "row" }, call.phase),
    el("td", {}, `${call.role}: ${call.model}`),
    ...[call.prompt_tokens, call.cached_tokens, call.generated_tokens, call.guessed_tokens].map((count) => el("td", { class: "number" }, count)),
    ...PARTS.map(([name]) => el("td", { class: "number" }, seconds(call[name])))));
  return el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Model calls in numbers" },
    el("table", {}, el("caption", { class: "unseen" }, "Model calls: tokens and times"), el("thead", {}, head), el("tbody", {}, ...rows)));
}

/** What a turn cost, closed at first. */
export function timeline(usage) {
  const calls = usage.calls ?? [];
  const words = `${usage.model_calls} model ${usage.model_calls === 1 ? "call" : "calls"}, ${usage.prompt_tokens} prompt tokens (${usage.cached_tokens} cached), ${usage.generated_tokens} written, ${seconds(usage.wall_ms)}`;
  if (calls.length === 0) return el("p", { class: "quiet" }, words);
  const made = el("details", { class: "cost" }, el("summary", {}, words));
  // Drawn when somebody looks: a reload replays many turns.
  made.addEventListener("toggle", () => made.append(drawing(calls.slice(0, DRAWN_MAX)), table(calls)), { once: true });
  return made;
}
