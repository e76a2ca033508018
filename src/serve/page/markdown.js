// Makes nodes from the Markdown of an answer. Links lead nowhere: a model wrote them, so their address is shown as text.

import { el, scrolled } from "./dom.js";

const FENCE = /^\s*(```+|~~~+)\s*([\w+-]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const BULLET = /^(\s*)[-*+]\s+(.*)$/;
const NUMBER = /^(\s*)(\d{1,9})[.)]\s+(.*)$/;
const QUOTE = /^ {0,3}>\s?(.*)$/;
const RULE = /^ {0,3}([-*_])(\s*\1){2,}\s*$/;
// The longest notations come first; nothing inside code is a notation.
const INLINE = /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|\*\*([^*\s](?:[^*]*[^*\s])?)\*\*|\*([^*\s](?:[^*]*[^*\s])?)\*|!?\[([^\]\n]*)\]\(([^()\s]*)\)/g;

const indentOf = (line) => /^\s*/.exec(line)[0];
/** How far a line is indented, in spaces. */
const widthOf = (line) => indentOf(line).replaceAll("\t", "    ").length;

/** The nodes of a line's text. */
function inline(text) {
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(INLINE)) {
    if (found.index > from) nodes.push(text.slice(from, found.index));
    const [, , code, strong, emphasis, words, address] = found;
    if (code !== undefined) nodes.push(el("code", {}, code));
    else if (strong !== undefined) nodes.push(el("strong", {}, strong));
    else if (emphasis !== undefined) nodes.push(el("em", {}, emphasis));
    else nodes.push(words === address ? words : `${words} (${address})`);
    from = found.index + found[0].length;
  }
  if (from < text.length) nodes.push(text.slice(from));
  return nodes;
}

/** A code block from line `at` on, and the line after it. It may not be closed yet. */
function fenced(lines, at) {
  const [, fence, language] = FENCE.exec(lines[at]);
  let end = at + 1;
  while (end < lines.length && !lines[end].trim().startsWith(fence)) end += 1;
  const label = language === "" ? "Code" : `Code, ${language}`;
  // Inside of a list, the code is indented like its fence.
  const indent = new RegExp(`^\\s{0,${indentOf(lines[at]).length}}`);
  const code = lines.slice(at + 1, end).map((line) => line.replace(indent, ""));
  return [scrolled(label, el("code", {}, code.join("\n"))), end + 1];
}

/** A list from line `at` on, with the lists, code and lines that are indented below its entries. */
function list(lines, at, form) {
  const [first, width] = [form.exec(lines[at]), widthOf(lines[at])];
  const made = form === NUMBER ? el("ol", { start: first[2] }) : el("ul");
  let next = at;
  while (next < lines.length) {
    const line = lines[next];
    const depth = widthOf(line) - width;
    const last = made.lastElementChild;
    if (depth < 2 && depth >= 0 && form.test(line)) {
      made.append(el("li", {}, ...inline(form.exec(line).at(-1))));
      next += 1;
    } else if (last === null || depth < 1 || line.trim() === "") {
      break;
    } else {
      const deeper = [BULLET, NUMBER].find((one) => one.test(line));
      let node;
      if (deeper !== undefined && depth > 1) [node, next] = list(lines, next, deeper);
      else if (FENCE.test(line)) [node, next] = fenced(lines, next);
      else if (deeper !== undefined) break;
      else [node, next] = [el("span", {}, " ", ...inline(line.trim())), next + 1];
      last.append(node);
    }
  }
  return [made, next];
}

function quote(lines, at) {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end])) end += 1;
  const inner = lines.slice(at, end).map((line) => QUOTE.exec(line)[1]);
  return [el("blockquote", {}, el("p", {}, ...inline(inner.join(" ")))), end];
}

const begins = (line) => line.trim() === "" || [FENCE, HEADING, BULLET, NUMBER, QUOTE, RULE].some((form) => form.test(line));

function paragraph(lines, at) {
  let end = at + 1;
  while (end < lines.length && !begins(lines[end])) end += 1;
  return [el("p", {}, ...inline(lines.slice(at, end).join("\n"))), end];
}

/** The nodes of a Markdown text. */
export function markdown(text) {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const nodes = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    let node = null;
    if (line.trim() === "") at += 1;
    else if (FENCE.test(line)) [node, at] = fenced(lines, at);
    else if (HEADING.test(line)) {
      const [, marks, title] = HEADING.exec(line);
      // Below the heading of the turn, which is level 3.
      [node, at] = [el(`h${Math.min(6, marks.length + 3)}`, {}, ...inline(title)), at + 1];
    } else if (RULE.test(line)) [node, at] = [el("hr"), at + 1];
    else if (BULLET.test(line)) [node, at] = list(lines, at, BULLET);
    else if (NUMBER.test(line)) [node, at] = list(lines, at, NUMBER);
    else if (QUOTE.test(line)) [node, at] = quote(lines, at);
    else [node, at] = paragraph(lines, at);
    if (node !== null) nodes.push(node);
  }
  return nodes;
}
