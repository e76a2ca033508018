// The pictures that go along with a request: chosen, pasted or dropped. The file input holds all of them.

import { byId } from "./dom.js";

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

export function clear() {
  field().value = "";
}

/** Adds the pictures among these files; returns whether there are any. */
function add(files) {
  const pictures = [...files].filter((file) => file.type.startsWith("image/"));
  const all = new DataTransfer();
  for (const file of [...field().files, ...pictures]) all.items.add(file);
  if (pictures.length > 0) field().files = all.files;
  return pictures.length > 0;
}

/** Takes pictures that are pasted or dropped into the request. */
export function begin(request) {
  const taken = (event, files) => {
    if (add(files)) event.preventDefault();
  };
  request.addEventListener("paste", (event) => taken(event, event.clipboardData.files));
  // Without this a browser opens a dropped file in place of the page.
  request.addEventListener("dragover", (event) => {
    if (event.dataTransfer.types.includes("Files")) event.preventDefault();
  });
  request.addEventListener("drop", (event) => taken(event, event.dataTransfer.files));
}
