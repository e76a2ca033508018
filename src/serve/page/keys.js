// Keys: single ones outside of text fields, and a dialog that lists them.

import { byId, el } from "./dom.js";

/** Each key as what is pressed, what it does in words, and what does it; `anywhere` counts in text fields too. */
let keys = [];

const inField = () => document.activeElement?.matches("input, textarea, select") ?? false;

function pressed(event) {
  // Composed letters and keys with other modifiers are not handled here.
  if (event.repeat || event.isComposing || event.altKey || event.metaKey || event.defaultPrevented) return;
  const name = event.ctrlKey ? `Ctrl+${event.key}` : event.key;
  const found = keys.find((one) => one.key === name);
  if (found === undefined || byId("help").open) return;
  if (!found.anywhere && (inField() || !byId("letters").checked)) return;
  event.preventDefault();
  found.act();
}

export function help() {
  byId("help").showModal();
}

/** Takes keys from now on, and writes them into the dialog. */
export function begin(all) {
  keys = [...all, { key: "?", words: "show this list", act: help }];
  byId("keys").replaceChildren(
    ...keys.map((one) => el("tr", {}, el("th", { scope: "row" }, el("kbd", {}, one.key)), el("td", {}, one.words))),
    el("tr", {}, el("th", { scope: "row" }, el("kbd", {}, "Esc")), el("td", {}, "leave the text field; close this list")));
  document.addEventListener("keydown", pressed);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && inField() && !byId("help").open) document.activeElement.blur();
  });
  byId("show-help").addEventListener("click", help);
  byId("close-help").addEventListener("click", () => byId("help").close());
}
