/** Longest text of one entry. */
export const ENTRY_LENGTH_MAX = 80;

export function storeOf() {
  const entries: string[] = [];
  return {
    add: (text: string) => entries.push(text.slice(0, ENTRY_LENGTH_MAX)),
    count: () => entries.length,
    all: () => entries,
  };
}
