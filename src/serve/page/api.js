// Asks the server. The page's key goes from the address to the server, for a cookie that no script can read and a proof that this
// script alone has: browsers send cookies to every port of a host, but keep stored values for one.

/** An answer that is no success. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const PROOF = "monobloc-proof";
const proof = () => localStorage.getItem(PROOF) ?? "none";

async function ask(method, path, body) {
  const headers = { "X-Monobloc": proof() };
  if (method !== "GET") headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: method === "GET" ? undefined : JSON.stringify(body), credentials: "same-origin" });
  } catch {
    throw new Refused(0, "The server does not answer. Start it again with: monobloc serve --open");
  }
  const text = await answer.text();
  let read = null;
  try {
    read = JSON.parse(text);
  } catch {
    // Not JSON: shown as it is.
  }
  if (answer.ok) return read;
  throw new Refused(answer.status, read?.error?.message ?? (text || `The server answered ${answer.status}.`));
}

export const get = (path) => ask("GET", path);
export const post = (path, body = {}) => ask("POST", path, body);

/** Hands in the key of the address, if it has one, and takes it out of the address first. */
export async function enter() {
  const key = new URLSearchParams(location.hash.slice(1)).get("key");
  if (key === null) return;
  history.replaceState(null, "", location.pathname);
  const entered = await post("/api/enter", { key });
  localStorage.setItem(PROOF, entered.proof);
}

/** The events of a turn: `take(number, event)` for each. Resolves after the last; a lost connection is taken up again. */
export function follow(id, take, connected) {
  return new Promise((resolve, reject) => {
    const source = new EventSource(`/api/turns/${id}/events?proof=${encodeURIComponent(proof())}`);
    let seen = 0;
    source.onopen = () => connected(true);
    source.onmessage = (message) => {
      const event = JSON.parse(message.data);
      if (event.type === "alive") return;
      const number = Number(message.lastEventId);
      if (number <= seen) return;
      seen = number;
      take(number, event);
      if (event.type === "ended") {
        source.close();
        resolve();
      }
    };
    source.onerror = () => {
      // The browser reconnects by itself, unless it was refused.
      connected(false);
      if (source.readyState === EventSource.CLOSED) reject(new Refused(0, "The events of this request cannot be read any more. Load the page again."));
    };
  });
}
