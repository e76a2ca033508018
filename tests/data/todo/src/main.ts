import { writeFile } from "node:fs/promises";
import { Store } from "./store.js";

const FILE = "todos.json";

const store = new Store((todos) => writeFile(FILE, JSON.stringify(todos)));
const [command, ...words] = process.argv.slice(2);

if (command === "add") {
  await store.add(words.join(" "));
} else {
  for (const todo of store.list()) {
    console.log(`${todo.done ? "x" : " "} ${todo.title}`);
  }
}
