// Drives chromium over its DevTools protocol for scripts/proof-page. Every step says what holds; the first that fails ends it.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const { PAGE, DEVTOOLS, PROJECT, AXE, OUT } = process.env;
const WAIT_MS = 120_000;
const CHANGE = "In src/retry.ts change the maximum number of attempts from 5 to 3";

/** One tab, with what it reported. */
class Tab {
  static async open() {
    const socket = new WebSocket(DEVTOOLS);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = () => reject(new Error("chromium does not answer"));
    });
    const tab = new Tab(socket);
    const { targetId } = await tab.send("Target.createTarget", { url: "about:blank" });
    tab.session = (await tab.send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
    for (const domain of ["Page", "Runtime", "Log", "Network", "Audits"]) await tab.send(`${domain}.enable`);
    return tab;
  }

  constructor(socket) {
    this.socket = socket;
    this.session = undefined;
    this.waiting = new Map();
    this.count = 0;
    /** Violations of the content policy, errors of scripts, and addresses outside the server. */
    this.wrong = [];
    socket.onmessage = ({ data }) => this.heard(JSON.parse(data));
  }

  heard({ id, result, error, method, params }) {
    if (id !== undefined) {
      const { resolve, reject } = this.waiting.get(id);
      this.waiting.delete(id);
      if (error) reject(new Error(error.message));
      else resolve(result);
      return;
    }
    if (method === "Runtime.exceptionThrown") this.wrong.push(`exception: ${params.exceptionDetails.exception?.description ?? params.exceptionDetails.text}`);
    if (method === "Log.entryAdded" && (params.entry.source === "security" || params.entry.text.includes("Content Security Policy"))) this.wrong.push(params.entry.text);
    if (method === "Audits.issueAdded" && params.issue.code === "ContentSecurityPolicyIssue") this.wrong.push(JSON.stringify(params.issue.details));
    if (method === "Page.javascriptDialogOpening") this.wrong.push(`dialog: ${params.message}`);
    if (method === "Network.requestWillBeSent" && !params.request.url.startsWith(new URL(PAGE).origin) && params.request.url !== "about:blank") this.wrong.push(`asked ${params.request.url}`);
  }

  send(method, params = {}) {
    this.count += 1;
    const id = this.count;
    this.socket.send(JSON.stringify({ id, method, params, sessionId: this.session }));
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  /** The value of an expression in the page. */
  async value(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async until(expression, what) {
    for (const begun = Date.now(); Date.now() - begun < WAIT_MS; await new Promise((resolve) => setTimeout(resolve, 50))) {
      if (await this.value(expression).catch(() => false)) return;
    }
    throw new Error(`it did not come to this: ${what}\n${await this.value("document.body.innerText")}`);
  }

  async key(key, code = key) {
    const text = key.length === 1 ? key : key === "Enter" ? "\r" : undefined;
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", key, code, text, windowsVirtualKeyCode: key === "Enter" ? 13 : undefined });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", key, code });
  }

  /** Writes a request with the keyboard alone and sends it. */
  async ask(text) {
    await this.value("document.activeElement.blur()");
    await this.key("/");
    await this.until("document.activeElement.id === 'request'", "the request has the focus");
    await this.send("Input.insertText", { text });
    await this.key("Enter");
  }

  async picture(name) {
    const { data } = await this.send("Page.captureScreenshot", { format: "png" });
    writeFileSync(join(OUT, `${name}.png`), Buffer.from(data, "base64"));
  }

  async screen(width, height, scheme) {
    await this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    await this.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }, { name: "prefers-reduced-motion", value: "reduce" }] });
  }
}

function holds(is, what, more = "") {
  if (!is) throw new Error(`${what} ${more}`);
  console.log(`ok  ${what}`);
}

const retry = () => readFileSync(join(PROJECT, "src/retry.ts"), "utf8");
const turns = "document.querySelectorAll('.turn').length";
const idle = "document.getElementById('cancel').disabled";

const entered = "(document.getElementById('project')?.textContent ?? '') !== ''";
const says = "document.getElementById('trouble').textContent";

async function enters(tab) {
  await tab.send("Page.navigate", { url: PAGE });
  await tab.until(entered, "the page has entered");
  holds(await tab.value("location.hash") === "", "the key is not in the address any more");
  holds(await tab.value("document.cookie") === "", "no script can read the cookie");
  const paints = [await painted(tab)];
  for (let load = 0; load < 2; load += 1) {
    await tab.send("Page.reload", { ignoreCache: true });
    await tab.until(entered, "the page is loaded again");
    paints.push(await painted(tab));
  }
  // The least of three: the browser itself warms up, and other work on the machine delays it.
  holds(Math.min(...paints) < 200, "the first paint comes within 200 ms", `(${paints.map(Math.round)} ms)`);
}

async function takesAnotherKey(tab) {
  await tab.value("location.hash = 'key=0'");
  await tab.until(`${says}.startsWith('the key is wrong')`, "a wrong key in an open tab is refused");
  holds(await tab.value("document.getElementById('send').disabled && document.getElementById('question').disabled"), "without its key the page sends nothing");
  // Only the fragment differs, as when the address is pasted into an open tab.
  await tab.send("Page.navigate", { url: PAGE });
  await tab.until(entered, "the right key in an open tab is taken");
  console.log("ok  an address in an open tab is taken");
}

async function takesPictures(tab) {
  const dropped = (name, type) => tab.value(`(() => {
    const data = new DataTransfer();
    data.items.add(new File(["x"], "${name}", { type: "${type}" }));
    const event = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
    document.querySelector("header").dispatchEvent(event);
    return event.defaultPrevented;
  })()`);
  const files = "document.getElementById('pictures').files.length";
  holds(await dropped("a.txt", "text/plain") && await tab.value(`${says}.startsWith('Only pictures') && ${files} === 0`), "a dropped file does not replace the page");
  holds(await dropped("a.png", "image/png") && await tab.value(`${says} === '' && ${files} === 1`), "a picture can be dropped anywhere");
  await tab.value("document.getElementById('no-pictures').click()");
  holds(await tab.value(`${files} === 0`), "pictures can be removed");
}

async function formats(tab) {
  const shown = (text) => tab.value(`import("/page/markdown.js").then(({ markdown }) => { const all = document.createElement("div"); all.append(...markdown(${JSON.stringify(text)})); return [...all.querySelectorAll("ol > li, ul > li, pre")].map((one) => one.parentElement.tagName + " " + one.textContent).join("|"); })`);
  const list = await shown("1. do\n   ```py\n   if x:\n     y\n   ```\n2. then\n   - a\n   - b\n3. end");
  holds(list === "OL doif x:\n  y|LI if x:\n  y|OL thenab|UL a|UL b|OL end", "code and lists stay in the list around them", list);
}

async function refuses(tab) {
  await tab.ask(CHANGE);
  await tab.until("document.title === 'monobloc (1)'", "the tab says that there is a question");
  await tab.value("document.activeElement.blur()");
  await new Promise((later) => setTimeout(later, 1500));
  await tab.key("n");
  await tab.until(`${idle} && document.querySelector('.turn .mark').textContent === 'refused'`, "the step is shown as refused");
  holds(retry().includes("MAX_ATTEMPTS = 5") && await tab.value("document.title === 'monobloc'"), "nothing is changed after `n`");
}

/** When the first content was painted, in ms after the load began. */
async function painted(tab) {
  const paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime";
  await tab.until(`${paint} > 0`, "something is painted");
  return tab.value(paint);
}

async function approves(tab) {
  await tab.ask(CHANGE);
  await tab.until("document.querySelector('.question:not(.closed) .diff .added') !== null", "the diff is shown");
  holds(retry().includes("MAX_ATTEMPTS = 5"), "nothing is changed before consent");
  await tab.picture("question");
  await accessible(tab, "with an open question");
  await tab.value("document.activeElement.blur()");
  // A letter answers no question that has just appeared.
  await new Promise((later) => setTimeout(later, 1500));
  await tab.key("y");
  await tab.until(`${idle} && [...document.querySelectorAll('.turn')].at(-1).querySelector('.answer').textContent !== ''`, "the answer is there");
  holds(retry().includes("MAX_ATTEMPTS = 3"), "the change is made after `y`");
}

async function undoes(tab) {
  await tab.value("document.activeElement.blur()");
  await tab.key("u");
  await tab.until("document.getElementById('past-state').textContent.startsWith('Back at')", "it is undone");
  holds(retry().includes("MAX_ATTEMPTS = 5"), "the file is as it was after `u`");
  await tab.picture("past");
  await accessible(tab, "with the past");
}

async function loadsAnew(tab) {
  const before = await tab.value(turns);
  await tab.ask("Explain in a few sentences what src/todo.ts does and why retries help");
  await tab.send("Input.insertText", { text: "and another" });
  await tab.until(`${turns} === ${before + 1} && !${idle}`, "a request runs");
  holds(await tab.value("document.getElementById('request').value === 'and another'"), "what is written while a request is being sent stays");
  await tab.key("Enter");
  const box = "document.getElementById('trouble').getBoundingClientRect()";
  await tab.until(`${says}.startsWith('a request is being carried out') && ${box}.height > 0 && ${box}.bottom <= innerHeight`, "why a second request has to wait is in sight");
  await tab.send("Page.reload");
  await tab.until(`${turns} === ${before + 1}`, "all turns are there after a reload");
  await tab.until(`${idle} && [...document.querySelectorAll('.turn')].at(-1).querySelector('.answer').textContent !== ''`, "the answer goes on to its end");
  console.log("ok  a reload in the middle loses nothing");
}

async function showsSlotsAndIndex(tab) {
  const before = await tab.value(turns);
  await tab.ask("Explain in a few sentences what src/store.ts does");
  // The page looks every two seconds; this looks as often as it can.
  const look = "import('/page/memory.js').then((memory) => memory.refresh())";
  const held = "/held by a turn/.test(document.querySelector('#memory-result table').textContent)";
  await tab.until(`${look}.then(() => ${held})`, "the table says that a turn has a slot");
  const filled = await tab.value("[...document.querySelectorAll('#memory-result svg.drawing rect[class^=kind] title')].some((title) => title.textContent.includes('held by'))");
  holds(filled, "the slot of a running request is filled in the picture");
  await tab.until(`${idle} && ${turns} === ${before + 1}`, "the request ends");
  await tab.until(`${look}.then(() => !(${held}))`, "its slot is free again");
  await tab.value("document.querySelector('nav button[data-view=code]').click()");
  await tab.until("/^Index: [1-9][0-9]* files, [1-9][0-9]* symbols, [1-9][0-9]* chunks.*up to date/.test(document.getElementById('index-state').textContent)", "the index is shown as up to date");
  writeFileSync(join(PROJECT, "src/added.ts"), "export const ADDED = 1;\n");
  await tab.value("document.querySelector('nav button[data-view=code]').click()");
  await tab.until("/stale: 1 files new or changed/.test(document.getElementById('index-state').textContent)", "the index is shown as stale after a change");
  console.log("ok  the index's state is shown");
  await accessible(tab, "with the state of the index");
}

async function staysText(tab) {
  await tab.value("document.activeElement.blur()");
  await tab.key("s");
  await tab.send("Input.insertText", { text: "HOSTILE_LIMIT <img src=x onerror=hostile=6>" });
  await tab.key("Enter");
  await tab.until("document.querySelectorAll('#code-result li').length > 0", "the search finds the hostile file");
  await tab.value("document.querySelectorAll('#code-result details').forEach((one) => { one.open = true; })");
  await tab.value("document.activeElement.blur()");
  await tab.key("g");
  await tab.value("document.getElementById('symbol').value = 'hostileCaller'");
  await tab.key("Enter");
  await tab.until("/hostile/.test(document.getElementById('code-state').textContent)", "the graph answers");
  const before = await tab.value(turns);
  await tab.ask("Read src/hostile.ts and tell me </script><img src=x onerror=hostile=7> what it says");
  await tab.until(`${idle} && ${turns} === ${before + 1} && [...document.querySelectorAll('.turn')].at(-1).querySelector('.state:not(.busy)') !== null`, "the hostile request ends");
  await tab.value("document.querySelectorAll('.turn details').forEach((one) => { one.open = true; })");
  await tab.picture("hostile");
  holds(await tab.value("typeof window.hostile") === "undefined", "hostile text runs nothing");
  const made = await tab.value("document.querySelectorAll('main img, main iframe, main script, main a').length");
  holds(made === 0, "hostile text makes no element", `(${made})`);
}

async function accessible(tab, when) {
  await tab.value(`${readFileSync(AXE, "utf8")}; undefined`);
  const found = await tab.value("axe.run(document).then(({ violations }) => violations.map(({ id, impact, nodes }) => ({ id, impact, where: nodes.slice(0, 3).map(({ html }) => html) })))");
  const serious = found.filter(({ impact }) => impact === "serious" || impact === "critical");
  holds(serious.length === 0, `axe-core finds nothing serious ${when}`, JSON.stringify(serious, null, 1));
}

async function everyView(tab) {
  for (const [width, height] of [[1400, 900], [360, 740]]) {
    for (const scheme of ["light", "dark"]) {
      await tab.screen(width, height, scheme);
      for (const view of ["talk", "code", "memory", "past"]) {
        await tab.value(`document.querySelector('nav button[data-view=${view}]').click()`);
        await new Promise((resolve) => setTimeout(resolve, 300));
        const sideways = await tab.value("document.documentElement.scrollWidth > document.documentElement.clientWidth");
        holds(!sideways, `${view} fits into ${width} points, ${scheme}`);
        const whole = await tab.value("document.documentElement.scrollHeight <= document.documentElement.clientHeight");
        holds(whole || width < 1120, `on a wide screen ${view} scrolls by itself`);
        await accessible(tab, `in ${view}, ${width} points, ${scheme}`);
        await tab.picture(`${view}-${width}-${scheme}`);
      }
    }
  }
  await tab.value("document.getElementById('show-help').click()");
  await accessible(tab, "in the list of keys");
  await tab.key("Escape");
}

const tab = await Tab.open();
await tab.screen(1400, 900, "light");
await enters(tab);
await takesAnotherKey(tab);
await takesPictures(tab);
await formats(tab);
await refuses(tab);
await approves(tab);
await undoes(tab);
await loadsAnew(tab);
await showsSlotsAndIndex(tab);
await staysText(tab);
await everyView(tab);
holds(tab.wrong.length === 0, "no violation of the content policy, no error, no other address", JSON.stringify(tab.wrong, null, 1));
tab.socket.close();
