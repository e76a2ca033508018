// Turns a captured terminal (text with the escape sequences of its colours, on standard input) into an SVG of monospace text.
// Arguments: columns and rows.

import { readFileSync } from "node:fs";

const [columns, rows] = process.argv.slice(2).map(Number);
const CELL = { width: 8.4, height: 18, size: 14, base: 13.5 };
const MARGIN = 14;
const PAPER = "#10141c";
const INK = "#d5dbe5";
const DIMMED = 0.65;
const NAMED = [
  "#3b4252", "#f07178", "#a5d46a", "#ffcb6b", "#6ea8fe", "#c792ea", "#5fd7d7", "#d5dbe5",
  "#7d8799", "#ff8b92", "#c3e88d", "#ffe08a", "#9cc4ff", "#ddb3ff", "#89ebeb", "#ffffff",
];

/** One of the 256 colours of terminals. */
function indexed(at) {
  if (at < 16) return NAMED[at];
  if (at >= 232) return rgb(Array(3).fill(8 + 10 * (at - 232)));
  const step = (part) => (part === 0 ? 0 : 55 + 40 * part);
  const cube = at - 16;
  return rgb([Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(step));
}

function rgb(parts) {
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

const PLAIN = { ink: undefined, paper: undefined, bold: false, dim: false, italic: false, line: false, swapped: false };

/** The style after the numbers of one sequence, as in `1;38;5;12`. */
function styled(style, numbers) {
  const next = { ...style };
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at];
    if (code === 0) Object.assign(next, PLAIN);
    else if (code === 1) next.bold = true;
    else if (code === 2) next.dim = true;
    else if (code === 3) next.italic = true;
    else if (code === 4) next.line = true;
    else if (code === 7) next.swapped = true;
    else if (code === 22) next.bold = next.dim = false;
    else if (code === 23) next.italic = false;
    else if (code === 24) next.line = false;
    else if (code === 27) next.swapped = false;
    else if (code >= 30 && code <= 37) next.ink = NAMED[code - 30];
    else if (code === 39) next.ink = undefined;
    else if (code >= 40 && code <= 47) next.paper = NAMED[code - 40];
    else if (code === 49) next.paper = undefined;
    else if (code >= 90 && code <= 97) next.ink = NAMED[code - 82];
    else if (code >= 100 && code <= 107) next.paper = NAMED[code - 92];
    else if (code === 38 || code === 48) {
      const field = code === 38 ? "ink" : "paper";
      if (numbers[at + 1] === 5) {
        next[field] = indexed(numbers[at + 2]);
        at += 2;
      } else if (numbers[at + 1] === 2) {
        next[field] = rgb(numbers.slice(at + 2, at + 5));
        at += 4;
      }
    }
  }
  return next;
}

/** The cells of a line with their styles, and the style that holds at its end. */
function cells(line, style) {
  const found = [];
  // Colours are taken, other sequences and control characters left out.
  for (const [piece, numbers] of line.matchAll(/\x1b\[([0-9;:]*)m|\x1b\[[0-9;?]*[A-Za-z]|[\s\S]/gu)) {
    if (numbers !== undefined) style = styled(style, numbers.split(/[;:]/).map(Number));
    else if (piece >= " " && !piece.startsWith("\x1b")) found.push({ text: piece, style });
  }
  return [found, style];
}

/** Neighbours of one style; what is not ASCII is placed by the character, because its font may have other widths. */
function runs(line) {
  const all = [];
  line.forEach(({ text, style }, column) => {
    const ascii = text < "\x7f";
    const last = all.at(-1);
    if (last && last.ascii === ascii && JSON.stringify(last.style) === JSON.stringify(style)) last.text.push(text);
    else all.push({ text: [text], style, ascii, column });
  });
  return all;
}

const escaped = (text) => text.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);
const short = (number) => String(Math.round(number * 100) / 100);
const left = (column) => short(MARGIN + column * CELL.width);

/** One run as SVG: what lies behind it, and its text. */
function drawn({ text, style, ascii, column }, row) {
  const [ink, paper] = style.swapped ? [style.paper ?? PAPER, style.ink ?? INK] : [style.ink ?? INK, style.paper];
  const top = MARGIN + row * CELL.height;
  const wide = short(text.length * CELL.width);
  const behind = paper ? `<rect x="${left(column)}" y="${short(top)}" width="${wide}" height="${CELL.height}" fill="${paper}"/>` : "";
  const marks = [
    ink === INK ? "" : ` fill="${ink}"`,
    style.bold ? ' font-weight="bold"' : "",
    style.italic ? ' font-style="italic"' : "",
    style.line ? ' text-decoration="underline"' : "",
    style.dim ? ` opacity="${DIMMED}"` : "",
  ].join("");
  // Spaces at the ends and several in a row are left out: viewers differ in what they do with them.
  const words = text.join("").matchAll(/[^ ]+(?: [^ ]+)*/gu);
  const drawnWords = [...words].map(({ 0: word, index }) => {
    const from = column + [...text.join("").slice(0, index)].length;
    const letters = [...word];
    const place = ascii
      ? `x="${left(from)}" textLength="${short(letters.length * CELL.width)}"`
      : `x="${letters.map((_, at) => left(from + at)).join(" ")}"`;
    return `<text ${place} y="${short(top + CELL.base)}"${marks}>${escaped(word)}</text>`;
  });
  return behind + drawnWords.join("");
}

const width = short(2 * MARGIN + columns * CELL.width);
const height = short(2 * MARGIN + rows * CELL.height);
const lines = readFileSync(0, "utf8").split("\n").slice(0, rows);
let style = PLAIN;
const picture = lines.map((line, row) => {
  const [found, after] = cells(line, style);
  style = after;
  return runs(found).map((run) => drawn(run, row)).join("");
});
console.log(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>A conversation with monobloc on the whole terminal</title>
<rect width="100%" height="100%" rx="8" fill="${PAPER}"/>
<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="${CELL.size}" fill="${INK}">
${picture.filter((line) => line !== "").join("\n")}
</g>
</svg>`);
