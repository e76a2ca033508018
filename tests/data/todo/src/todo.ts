/** One thing to do. */
export interface Todo {
  id: number;
  title: string;
  done: boolean;
}

/** Longest title that is kept. */
export const TITLE_LENGTH_MAX = 120;

/** A new entry that is not done yet. */
export function createTodo(id: number, title: string): Todo {
  return { id, title: title.slice(0, TITLE_LENGTH_MAX), done: false };
}

/** Marks an entry as done. */
export function finish(todo: Todo): Todo {
  return { ...todo, done: true };
}
