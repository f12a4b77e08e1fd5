import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

/** The limit of one call to the engine, in milliseconds: a call that hangs would hang budgie. */
export const API_LIMIT_MS = 15_000;
/** The limit of a removal, and of a stop after its grace period, in milliseconds: the caller that cancels a turn waits for both. */
export const ENDING_LIMIT_MS = 10_000;

/** Creates the option that aborts a call to the engine after `limitMs`. */
export function timeLimit(limitMs = API_LIMIT_MS): { readonly abortSignal: AbortSignal } {
  return { abortSignal: AbortSignal.timeout(limitMs) };
}

/** Awaits `work` for at most `limitMs`; then rejects with a `TimeoutError`, as an aborted call to the engine does. */
export async function withTimeout<T>(work: Promise<T>, limitMs: number): Promise<T> {
  const over = new AbortController();
  const late = sleep(limitMs, undefined, { signal: over.signal }).then(() => {
    throw timeoutError(limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}

/** Destroys a stream with a `TimeoutError` after `limitMs` without data. Time spent paused does not count. */
export function destroyWhenIdle<T extends Readable>(stream: T, limitMs = API_LIMIT_MS): T {
  let wasHeard = true;
  const timer = setInterval(() => {
    if (!wasHeard && !stream.isPaused()) {
      stream.destroy(timeoutError(limitMs));
    }
    wasHeard = false;
  }, limitMs);
  stream.prependListener("data", () => (wasHeard = true));
  // The listener above switched it to flowing mode; leave that to the reader.
  stream.pause();
  stream.once("close", () => clearInterval(timer));
  return stream;
}

/** Creates the error of a call without an answer, named like that of an aborted call. */
function timeoutError(limitMs: number): Error {
  return Object.assign(new Error(`no answer within ${limitMs / 1000} s`), { name: "TimeoutError" });
}
