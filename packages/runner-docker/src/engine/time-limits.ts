import type { Readable } from "node:stream";
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

/** Ends a stream with the error of a call that hangs once it says nothing for so long; while nobody reads it, that does not count. */
export function endingInSilence<T extends Readable>(stream: T, limitMs = API_LIMIT_MS): T {
  let wasHeard = true;
  const timer = setInterval(() => {
    if (!wasHeard && !stream.isPaused()) {
      stream.destroy(Object.assign(new Error(`no answer within ${limitMs / 1000} s`), { name: "TimeoutError" }));
    }
    wasHeard = false;
  }, limitMs);
  stream.prependListener("data", () => (wasHeard = true));
  // It is for its reader to set it going.
  stream.pause();
  stream.once("close", () => clearInterval(timer));
  return stream;
}
