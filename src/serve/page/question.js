// Shows a tool call that waits for consent or for values of its arguments, and sends the user's decision.

import { post } from "./api.js";
import { diff, isDiff } from "./diff.js";
import { announce, button, el, scrolled, trouble } from "./dom.js";

const SAID = { yes: "You said yes.", modify: "You said yes, with other arguments.", filled: "You answered.", no: "You said no.", always: "You said yes, also to what follows of this kind." };

/** Milliseconds for which no letter answers a new question: whoever is typing then has not read it. */
const UNREAD = 1000;

/** The open questions, the oldest first. */
const open = [];

/** Shows in the tab's title and in every view how many questions are open. */
function count() {
  const words = open.length > 0 ? ` (${open.length})` : "";
  document.title = `monobloc${words}`;
  document.querySelector("nav button[data-view=talk]").textContent = `Conversation${words}`;
}

export class Question {
  constructor(turn, number, proposal) {
    this.turn = turn;
    this.number = number;
    this.proposal = proposal;
    this.since = performance.now();
    this.wanted = proposal.asks?.values ?? [];
    const need = this.wanted.length > 0 ? "Answer needed" : "Consent needed";
    const title = el("h4", { id: `question-${turn}-${number}` }, `${need}: ${proposal.tool}`);
    this.node = el("div", { class: "question", role: "group", tabindex: -1, "aria-labelledby": title.id }, title, el("p", {}, proposal.reason));
    this.node.append(isDiff(proposal.preview) ? diff(proposal.preview, "What would change") : scrolled("What would be done", el("code", {}, proposal.preview)));
    const yes = this.wanted.length > 0 ? button("Answer", () => this.answer(), { class: "main" }) : button("Yes", () => this.decide("yes"), { class: "main", "aria-keyshortcuts": "y" });
    this.buttons = el("div", { class: "row" }, yes, button("No", () => this.decide("no"), { "aria-keyshortcuts": "n" }));
    this.fields = this.wanted.map((name) => el("input", { id: `value-${turn}-${number}-${name}`, autocomplete: "off" }));
    this.form = el("div", {}, ...this.fields.flatMap((field, at) => [el("label", { for: field.id }, this.wanted[at]), field]));
    this.node.append(this.form);
    if (proposal.always) {
      this.buttons.append(button(`Always: ${proposal.always}`, () => this.decide("always"), { "aria-keyshortcuts": "a" }));
    }
    if (this.wanted.length === 0) this.buttons.append(button("Change …", () => this.edit()));
    this.node.append(this.buttons);
    open.push(this);
    count();
    announce(`${need}: ${proposal.tool}. ${proposal.reason}`, true);
  }

  /** Sends the call's arguments with what is written in the fields. */
  answer() {
    const empty = this.fields.find((field) => field.value.trim() === "");
    if (empty !== undefined) {
      empty.focus();
      return;
    }
    const values = Object.fromEntries(this.fields.map((field, at) => [this.wanted[at], field.value.trim()]));
    this.decide("modify", { arguments: { ...this.proposal.arguments, ...values } });
  }

  async decide(decision, more = {}) {
    if (decision === "always" && !this.proposal.always) return;
    if (decision === "yes" && this.wanted.length > 0) return;
    try {
      await post(`/api/turns/${this.turn}/decide`, { decision, number: this.number, ...more });
      trouble("");
    } catch (error) {
      trouble(error.message);
    }
  }

  /** Opens the arguments for editing: the call is made with what is then written there, after the same checks. */
  edit() {
    if (this.editor !== undefined) return;
    const text = JSON.stringify(this.proposal.arguments, null, 2);
    const field = el("textarea", { id: `arguments-${this.turn}-${this.number}`, rows: Math.min(20, text.split("\n").length + 1), spellcheck: "false" });
    field.value = text;
    const run = button("Run with these", () => {
      let changed;
      try {
        changed = JSON.parse(field.value);
      } catch (error) {
        trouble(`The arguments are not valid JSON: ${error.message}`);
        return;
      }
      this.decide("modify", { arguments: changed });
    }, { class: "main" });
    this.editor = el("div", {}, el("label", { for: field.id }, "Arguments, as JSON"), field, el("div", { class: "row" }, run));
    this.buttons.before(this.editor);
    field.focus();
  }

  /** Focuses the question, unless the user is writing. */
  show() {
    const writes = document.activeElement?.matches("textarea, input") && document.activeElement.value !== "";
    this.since = performance.now();
    if (!writes) this.node.focus();
  }

  /** The question is no longer open; `how` says why. */
  close(how) {
    const at = open.indexOf(this);
    if (at >= 0) open.splice(at, 1);
    count();
    const had = this.node.contains(document.activeElement);
    this.node.classList.add("closed");
    this.editor?.remove();
    this.form.remove();
    const said = how === "modify" && this.wanted.length > 0 ? "filled" : how;
    this.buttons.replaceWith(el("p", {}, SAID[said] ?? `Not done: ${how}.`));
    if (had) this.node.focus();
  }
}

/** Answers the oldest open question, once it has been there for a moment. */
export function decideFirst(decision) {
  const first = open[0];
  if (first === undefined) return;
  const unread = performance.now() - first.since < UNREAD;
  first.node.scrollIntoView({ block: "nearest" });
  if (unread) first.since = performance.now();
  else first.decide(decision);
}
