import type { Readable } from "node:stream";
import { API_LIMIT_MS } from "./api-limit.ts";

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
