import { setTimeout as sleep } from "node:timers/promises";

/** How long one call to the engine may take: one that hangs would hang budgie. */
export const API_LIMIT_MS = 15_000;
/** How long a stop may take past the grace, and how long a removal: whoever cancelled a turn waits for both. */
export const ENDING_LIMIT_MS = 10_000;

/** Options that make a call to the engine end after `limitMs`. */
export function withLimit(limitMs = API_LIMIT_MS): { readonly abortSignal: AbortSignal } {
  return { abortSignal: AbortSignal.timeout(limitMs) };
}

/** The result of what may hang, or the same error as of a call that does. */
export async function withinLimit<T>(work: Promise<T>, limitMs: number): Promise<T> {
  const over = new AbortController();
  const late = sleep(limitMs, undefined, { signal: over.signal }).then(() => {
    throw Object.assign(new Error(`no answer within ${limitMs / 1000} s`), { name: "TimeoutError" });
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}
