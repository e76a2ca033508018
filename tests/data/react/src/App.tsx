import { storeOf } from "./store";

const store = storeOf();

export function App() {
  return <main>Nothing here yet: {store.count()} entries</main>;
}
