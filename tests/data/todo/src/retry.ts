/** How many times a request is tried. */
export const MAX_ATTEMPTS = 5;

/** Milliseconds between two tries. */
const PAUSE_MS = 250;

/** Runs `work` until it succeeds or all tries are used up. */
export async function retry<T>(work: () => Promise<T>): Promise<T> {
  let failure: unknown;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    try {
      return await work();
    } catch (error) {
      failure = error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
  throw failure;
}
