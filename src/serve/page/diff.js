// Shows a unified diff line by line. Each line begins with a sign, so nothing depends on colour.

import { el, scrolled } from "./dom.js";

/** Lines that are shown; the others are only counted. */
const LINES_MAX = 2000;

function kind(line) {
  if (line.startsWith("+++") || line.startsWith("---")) return "file";
  if (line.startsWith("@@")) return "hunk";
  if (line.startsWith("+")) return "added";
  if (line.startsWith("-")) return "removed";
  return "same";
}

export const isDiff = (text) => /^(---|\+\+\+|@@) /m.test(text);

/** The node of a diff. */
export function diff(text, label = "Changes") {
  const lines = text.replace(/\n$/, "").split("\n");
  const shown = lines.slice(0, LINES_MAX).map((line) => el("span", { class: kind(line) }, line === "" ? " " : line));
  if (lines.length > LINES_MAX) shown.push(el("span", {}, `… ${lines.length - LINES_MAX} more lines`));
  const block = scrolled(label, el("code", {}, ...shown));
  block.classList.add("diff");
  return block;
}
