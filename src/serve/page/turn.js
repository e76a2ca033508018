// Shows one turn and keeps up with its events: plan, tool calls, questions, answer, cost.

import { diff } from "./diff.js";
import { announce, el, scrolled, seconds, short } from "./dom.js";
import { markdown } from "./markdown.js";
import { Question } from "./question.js";
import { timeline } from "./timeline.js";

const STATES = { pending: "waits", thinking: "is being prepared", deciding: "is checked", awaiting_approval: "waits for consent", executing: "runs", complete: "done", failed_to_think: "failed", failed_to_execute: "failed" };
/** The times after which a model that has written nothing counts as stuck or slow: the limits of a turn's latency check. */
const LATE = [{ after: 60_000, name: "stuck", words: "very slow; Cancel ends it" }, { after: 30_000, name: "slow", words: "slow" }];
/** Characters of a request that are shown where it is a title. */
const TITLE_MAX = 500;
const STEP_MAX = 200;
const MARKS = { complete: "complete", failed_to_think: "failed", failed_to_execute: "failed" };

export class Turn {
  constructor(id) {
    this.id = id;
    this.title = el("h3", {}, "…");
    this.whole = el("details", { hidden: true }, el("summary", {}, "The whole request"));
    this.plan = el("ol", { class: "plan", "aria-label": "Plan", hidden: true });
    this.calls = el("ul", { class: "calls", "aria-label": "Tool calls", hidden: true });
    this.notes = el("div", { class: "quiet" });
    this.thoughts = el("details", { hidden: true }, el("summary", {}, "Thoughts of the model"));
    this.thought = el("p", { class: "quiet" });
    this.thoughts.append(this.thought);
    this.context = el("details", { hidden: true }, el("summary", {}, "Code that the model is shown"));
    this.questions = el("div");
    this.answer = el("div", { class: "answer" });
    this.confidence = el("p", { class: "badge", hidden: true });
    this.state = el("p", { class: "state busy" }, "begins");
    this.node = el("article", { class: "turn" }, this.title, this.whole, this.plan, this.calls, this.notes, this.context, this.thoughts, this.questions, this.answer, this.confidence, this.state);
    this.steps = new Map();
    /** What became of the calls of a step that change something: `made`, or `refused` if none was made. */
    this.outcomes = new Map();
    this.asked = new Map();
    this.text = "";
    this.drawn = true;
    this.over = false;
    /** Whether events come that are new, not those of before the page was loaded. */
    this.live = false;
    /** Does what makes the turn longer. */
    this.grow = (act) => act();
  }

  /** Takes an event with its number. */
  take(number, { type, data }) {
    const handle = HANDLERS[type];
    if (handle !== undefined) handle(this, data, number);
  }

  note(text) {
    this.notes.append(el("p", {}, text));
  }

  /** Says in words and colours what is being done and how late it is. */
  say(text, waited = 0) {
    const late = LATE.find(({ after }) => waited >= after);
    this.state.className = `state busy ${late?.name ?? ""}`;
    this.state.textContent = late ? `${text} – ${late.words}` : text;
  }

  /** Writes the answer anew, at most once a frame. */
  write(text) {
    this.text = text;
    if (!this.drawn) return;
    this.drawn = false;
    requestAnimationFrame(() => {
      this.drawn = true;
      this.grow(() => this.answer.replaceChildren(...markdown(this.text)));
    });
  }

  end(text, kind = "") {
    this.over = true;
    this.state.className = `state ${kind}`;
    this.state.textContent = text;
    this.state.hidden = text === "";
  }
}

function planned(turn, { plan }) {
  turn.plan.hidden = plan.steps.length === 0;
  turn.steps.clear();
  const rows = plan.steps.map((step) => {
    const mark = el("span", { class: "mark" }, STATES.pending);
    turn.steps.set(step.id, mark);
    return el("li", {}, `${short(step.description, STEP_MAX)} – `, mark);
  });
  turn.plan.replaceChildren(...rows);
}

function stepState(turn, { step, state }) {
  const mark = turn.steps.get(step);
  if (mark === undefined) return;
  const refused = state === "complete" && turn.outcomes.get(step) === "refused";
  mark.textContent = refused ? "refused" : STATES[state] ?? state;
  mark.className = `mark ${refused ? "rejected" : MARKS[state] ?? ""}`;
}

function called(turn, report) {
  if (report.status === "rejected" && !turn.outcomes.has(report.step)) turn.outcomes.set(report.step, "refused");
  if (report.status === "succeeded" && report.executing) turn.outcomes.set(report.step, "made");
  turn.calls.hidden = false;
  const head = [el("span", { class: `mark ${report.status}` }, report.status.replaceAll("_", " ")), ` ${report.tool}: ${report.summary} (${seconds(report.wall_ms)})`];
  const inside = [scrolled("Arguments", el("code", {}, JSON.stringify(report.arguments, null, 2)))];
  if (report.diff) inside.unshift(diff(report.diff, `Changes by ${report.tool}`));
  turn.calls.append(el("li", {}, el("details", {}, el("summary", {}, ...head), ...inside)));
  if (turn.live) announce(`${report.tool} ${report.status}: ${report.summary}`);
}

function question(turn, { proposal }, number) {
  const asked = new Question(turn.id, number, proposal);
  turn.asked.set(number, asked);
  turn.questions.append(asked.node);
  turn.say(asked.wanted.length > 0 ? "waits for your answer" : "waits for your consent");
  asked.show();
}

function closed(turn, { number, how }) {
  turn.asked.get(number)?.close(how);
  turn.say("goes on");
}

function finished(turn, { answer, usage }) {
  turn.write(answer);
  turn.node.append(timeline(usage));
  if (turn.live) announce(`Answer: ${answer}`);
  turn.end("");
}

function failed(turn, { error }) {
  if (error === "cancelled") turn.end("Cancelled.");
  else turn.end(`It failed: ${error}`, "failed");
  if (turn.live) announce(turn.state.textContent, true);
}

/** The verifier's certainty of the answer that is shown. */
function verified(turn, { confidence, verdict, critique }) {
  const words = { valid: "confirmed", needs_refinement: "to be improved", critical_error: "wrong" };
  turn.confidence.hidden = false;
  turn.confidence.className = `badge ${verdict}`;
  turn.confidence.textContent = `Confidence ${Math.round(confidence * 100)} %: ${words[verdict] ?? verdict}`;
  turn.confidence.title = critique;
}

function changed(turn, { checkpoint, created, changed: replaced, deleted, left }) {
  turn.note(`Files: ${created} created, ${replaced} changed, ${deleted} deleted. ${checkpoint} is the state before.`);
  if (left.length > 0) turn.note(`Not covered, stays as it is now: ${left.slice(0, 5).map(([path, why]) => `${path} (${why})`).join(", ")}${left.length > 5 ? " and more" : ""}.`);
}

function asked(turn, { text, mode }) {
  turn.title.textContent = short(text, TITLE_MAX) + (mode === "chat" ? " (chat)" : "");
  if (text.length <= TITLE_MAX) return;
  turn.whole.hidden = false;
  turn.whole.append(scrolled("Request", text));
}

const HANDLERS = {
  asked,
  "plan-created": planned,
  "step-executing": (turn, { step, description }) => turn.say(`step ${step}: ${short(description, STEP_MAX)}`),
  "step-state": stepState,
  "step-completed": called,
  question,
  "question-closed": closed,
  token: (turn, { text }) => {
    turn.write(turn.text + text);
    turn.say("writes the answer");
  },
  thinking: (turn, { text }) => {
    turn.thoughts.hidden = false;
    turn.thought.append(text);
  },
  notice: (turn, { text }) => turn.note(text),
  fallback: (turn, { from, reason }) => turn.note(`${from} gives up: ${reason}`),
  "model-loading": (turn, { role, file, share }) => turn.say(`loads ${role} (${file}): ${Math.round(share * 100)} %`),
  queue_update: (turn, { position, eta_ms: eta }) => turn.say(`Queued … (#${position})${eta === null || eta === undefined ? "" : `, about ${seconds(eta)} to go`}`),
  pulse: (turn, { phase, waited_ms: waited }) => turn.say(`${phase}, ${seconds(waited)}`, waited),
  "context-shown": (turn, { step, places, tokens }) => {
    turn.context.hidden = false;
    turn.context.append(el("p", { class: "quiet" }, `Step ${step}, ${tokens} tokens: ${places.join(", ") || "none"}`));
  },
  VERIFICATION: verified,
  "checkpoint-made": changed,
  REFINEMENT: (turn, { iteration }) => turn.say(`writes the answer again (${iteration})`),
  "turn-finished": finished,
  "turn-failed": failed,
  gone: (turn) => turn.note("Earlier events of this request are not kept any more."),
  ended: (turn) => { if (!turn.over) turn.end("It ended without an answer."); },
};
