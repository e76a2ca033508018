import { retry } from "./retry.js";
import { createTodo, finish, type Todo } from "./todo.js";

/** Keeps entries in memory and saves each change. */
export class Store {
  private todos: Todo[] = [];

  constructor(private readonly save: (todos: Todo[]) => Promise<void>) {}

  async add(title: string): Promise<Todo> {
    const todo = createTodo(this.todos.length + 1, title);
    this.todos.push(todo);
    await this.persist();
    return todo;
  }

  async complete(id: number): Promise<void> {
    this.todos = this.todos.map((todo) => (todo.id === id ? finish(todo) : todo));
    await this.persist();
  }

  list(): readonly Todo[] {
    return this.todos;
  }

  private persist(): Promise<void> {
    return retry(() => this.save(this.todos));
  }
}
