// Draws who holds how much of the memory: models with their parts and slots, other holders, and what is free.

import { get } from "./api.js";
import { byId, bytes, draw, el, short } from "./dom.js";

const EVERY_MS = 2000;
const WIDTH = 640;
const BAR = 46;
const KINDS = 5;

/** Every holder as name, bytes and what is to be told about it. */
function holders({ models, others }) {
  const of = models.map((model, at) => ({ name: model.file, bytes: model.bytes, kind: at % KINDS, model }));
  return of.concat(others.map(([name, held]) => ({ name, bytes: held, kind: KINDS })));
}

function bar(memory, all) {
  const scale = WIDTH / Math.max(1, memory.budget_bytes);
  const label = `${bytes(memory.budget_bytes)} of memory, ${bytes(memory.free_bytes)} free: ${all.map((one) => `${one.name} ${bytes(one.bytes)}`).join(", ")}`;
  const slots = all.filter((one) => one.model);
  const height = BAR + 8 + slots.length * 26 + 4;
  const picture = draw("svg", { class: "drawing", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": label });
  picture.append(draw("rect", { x: 0, y: 4, width: WIDTH, height: BAR - 4, class: "free" }));
  let from = 0;
  for (const one of all) {
    const parts = one.model ? one.model.parts : [[one.name, one.bytes]];
    for (const [part, held] of parts) {
      // Weights that another context of the same file holds are not counted twice.
      if (one.model?.shares_weights && part === "weights") continue;
      const width = held * scale;
      const box = draw("rect", { x: from, y: 4, width, height: BAR - 4, class: `part kind${one.kind}` });
      box.append(draw("title", {}, `${one.name}, ${part}: ${bytes(held)}`));
      picture.append(box);
      from += width;
    }
  }
  slots.forEach((one, row) => slotBoxes(picture, one, BAR + 8 + row * 26));
  return picture;
}

/** Who has a slot, and what it does for them. */
function slotWords(slot) {
  const does = slot.generated === null ? `reads ${slot.prompt} tokens` : `${slot.prompt} tokens read, ${slot.generated} written`;
  return `held by ${slot.by} for ${slot.since_s} s: ${does}`;
}

const busy = (model) => model.busy.filter((slot) => slot !== null);

/** A box for each slot of a model, filled if it is busy. */
function slotBoxes(picture, { model, kind }, top) {
  const drawn = Math.min(model.slots, 24);
  for (let slot = 0; slot < drawn; slot += 1) {
    const holder = model.busy[slot] ?? null;
    const box = draw("rect", { x: 6 + slot * 18, y: top + 3, width: 14, height: 14, class: holder ? `kind${kind}` : "box" });
    box.append(draw("title", {}, holder ? slotWords(holder) : "free"));
    picture.append(box);
  }
  const words = `${busy(model).length} of ${model.slots} slots busy, ${model.context} tokens each: ${short(model.roles.join(", ") || model.file, 40)}`;
  picture.append(draw("text", { x: 14 + drawn * 18, y: top + 15 }, words));
}

const swatch = (kind) => draw("svg", { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" }, draw("rect", { width: 10, height: 10, class: `kind${kind}` }));

/** The picture's slots in words, a line each. */
function slotLines(model) {
  const waiting = model.waiting > 0 ? `; ${model.waiting} requests wait` : "";
  const first = `${model.slots} × ${model.context} (${model.kv_type}), ${busy(model).length} busy${waiting}`;
  return [first, ...busy(model).map(slotWords)].map((line) => el("div", {}, line));
}

function modelRow({ model, kind }) {
  const use = model.pinned ? "pinned" : model.idle_s === null ? "in use" : `idle for ${model.idle_s} s`;
  const parts = model.parts.map(([part, held]) => `${part} ${bytes(held)}`).join(", ");
  return el("tr", {},
    el("th", { scope: "row" }, swatch(kind), ` ${model.file}`),
    el("td", {}, model.roles.join(", ")),
    el("td", { class: "number" }, bytes(model.bytes)),
    el("td", {}, parts + (model.lora.length > 0 ? `; with ${model.lora.join(", ")}` : "")),
    el("td", {}, ...slotLines(model)),
    el("td", {}, model.rung ?? "nothing"),
    el("td", {}, use));
}

const otherRow = ({ name, bytes: held, kind }) => el("tr", {}, el("th", { scope: "row" }, swatch(kind), ` ${name}`), el("td"), el("td", { class: "number" }, bytes(held)), el("td"), el("td"), el("td"), el("td"));

function table(all) {
  const heads = ["holder", "roles", "memory", "parts", "slots", "given up", "use"];
  const head = el("tr", {}, ...heads.map((text) => el("th", { scope: "col" }, text)));
  const rows = all.map((one) => (one.model ? modelRow(one) : otherRow(one)));
  return el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Memory in numbers" },
    el("table", {}, el("caption", { class: "unseen" }, "Who holds how much memory"), el("thead", {}, head), el("tbody", {}, ...rows)));
}

/** Shows in every view how many requests of all models wait for a slot. */
function queue(models) {
  const waiting = models.reduce((sum, model) => sum + model.waiting, 0);
  const working = models.reduce((sum, model) => sum + busy(model).length, 0);
  const place = byId("queue");
  place.hidden = waiting === 0;
  place.textContent = `Busy: ${working} ${working === 1 ? "request is" : "requests are"} being answered, ${waiting} wait`;
}

let shown = "";

/** Reads the memory and draws it, if it is another than before. */
export async function refresh() {
  const place = byId("memory-result");
  let memory;
  try {
    memory = await get("/api/memory");
  } catch (error) {
    shown = "";
    place.replaceChildren(el("p", { class: "trouble" }, error.message));
    return;
  }
  queue(memory.models);
  const read = JSON.stringify(memory);
  if (read === shown) return;
  shown = read;
  const all = holders(memory);
  const loading = memory.loading ? el("p", {}, `${memory.loading.file} is being loaded: ${Math.round(memory.loading.share * 100)} %`) : null;
  const servers = (memory.servers ?? []).map((one) => el("p", {}, one.told));
  const words = el("p", {}, `${bytes(memory.free_bytes)} of ${bytes(memory.budget_bytes)} are free.`);
  place.replaceChildren(...[words, ...servers, loading, bar(memory, all), table(all)].filter((node) => node !== null));
}

/** Keeps the picture and the queue up to date while the page is seen. */
export function begin() {
  const place = byId("memory");
  setInterval(() => {
    // Do not refresh while the table has the focus.
    if (document.visibilityState === "visible" && !place.contains(document.activeElement)) refresh();
  }, EVERY_MS);
  refresh();
}
