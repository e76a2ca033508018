// Makes nodes of the page. Text is inserted as text, whoever wrote it: nothing here parses markup.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  // A string among the children becomes a text node.
  node.append(...children.filter((child) => child !== null && child !== undefined).map((child) => (child instanceof Node ? child : String(child))));
  return node;
}

/** An element with attributes and children. `true` sets an empty attribute, `false` and `null` set none. */
export const el = (name, attributes = {}, ...children) => filled(document.createElement(name), attributes, children);

/** The same for a part of a drawing. */
export const draw = (name, attributes = {}, ...children) => filled(document.createElementNS(SVG, name), attributes, children);

/** A button that does something. */
export function button(text, act, attributes = {}) {
  const made = el("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", act);
  return made;
}

/** A block that can be scrolled, so it can be focused and has a name. */
export const scrolled = (label, ...children) => el("pre", { tabindex: 0, role: "region", "aria-label": label }, ...children);

/** Says a text to screen readers: at once, or when there is a pause. */
export function announce(text, urgently = false) {
  const place = byId(urgently ? "urgent" : "spoken");
  place.textContent = "";
  // Without a pause, setting the same text again would not be read aloud.
  setTimeout(() => { place.textContent = text; }, 50);
}

/** Shows why something did not work; an empty text hides it. */
export function trouble(text) {
  const place = byId("trouble");
  place.textContent = text;
  place.hidden = text === "";
}

/** Hides this text, if it is the one that is shown. */
export function untrouble(text) {
  if (byId("trouble").textContent === text) trouble("");
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** Bytes in words, as `monobloc` prints them. */
export function bytes(count) {
  let unit = 0;
  let value = count;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${count} B` : `${value.toFixed(1)} ${UNITS[unit]}`;
}

export const seconds = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

/** A time in the past, in words. */
export function ago(passed) {
  if (passed < 60) return `${passed} s ago`;
  if (passed < 3600) return `${Math.floor(passed / 60)} min ago`;
  return passed < 86_400 ? `${Math.floor(passed / 3600)} h ago` : `${Math.floor(passed / 86_400)} days ago`;
}

/** A point in time, as this browser's user writes it. */
export const moment = (time) => new Date(time).toLocaleString();

/** `text` with at most `most` characters. */
export const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
