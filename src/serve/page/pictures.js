// The pictures that go along with a request: chosen, pasted or dropped. The file input holds all of them.

import { announce, byId, trouble } from "./dom.js";

const field = () => byId("pictures");

/** The file in base64. */
function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(new Error(`${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });
}

/** The pictures as the server takes them. */
export const read = () => Promise.all([...field().files].map(async (file) => ({ name: file.name, data: await base64(file) })));

/** Shows how to remove pictures if there are some. */
const offer = () => { byId("no-pictures").hidden = field().files.length === 0; };

export function clear() {
  field().value = "";
  offer();
}

/** Adds the pictures among these files; returns whether there are any. */
function add(files) {
  const pictures = [...files].filter((file) => file.type.startsWith("image/"));
  const all = new DataTransfer();
  for (const file of [...field().files, ...pictures]) all.items.add(file);
  if (pictures.length === 0) return false;
  field().files = all.files;
  offer();
  announce(`${all.files.length} pictures go along with the request.`);
  return true;
}

/** Takes pictures that are pasted into the request or dropped on the page. */
export function begin(request) {
  request.addEventListener("paste", (event) => {
    // Text from an office program comes with a picture of itself.
    if (!event.clipboardData.types.includes("text/plain") && add(event.clipboardData.files)) event.preventDefault();
  });
  // Without these a browser opens a dropped file in place of the page.
  const isFile = (event) => event.dataTransfer.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    if (isFile(event)) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    trouble(add(event.dataTransfer.files) ? "" : "Only pictures can be dropped; name other files in the request.");
  });
  field().addEventListener("change", offer);
  byId("no-pictures").addEventListener("click", () => {
    clear();
    request.focus();
  });
}
