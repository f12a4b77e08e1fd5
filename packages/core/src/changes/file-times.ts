import { setTimeout as sleep } from "node:timers/promises";

/** A point in time to compare file times with. */
export type NotedTime = {
  /** Resolves when any further write gets a later time: the file system's clock is coarse */
  readonly ready: Promise<unknown>;
  /** The noted time by the present clock; `undefined` if the clock was set back too far to tell */
  readonly toSinceMs: () => number | undefined;
};

// Linux notes times by the last tick of its clock, which is 10 ms ago at the most.
const TICK_MS = 10;
const MOST_SET_BACK_MS = 1000;

/** Notes the current time. */
export function noteTime(): NotedTime {
  const beganMs = performance.now();
  // The end of this millisecond: what a caller has just written is from before.
  const sinceMs = Date.now() + 1;
  return {
    ready: sleep(2 * TICK_MS),
    toSinceMs() {
      // In this order: a pause in between then looks like a clock that was set back, and cannot hide one.
      const nowMs = Date.now() + 1;
      const setBackMs = Math.max(performance.now() - beganMs - (nowMs - sinceMs), 0);
      return setBackMs > MOST_SET_BACK_MS ? undefined : sinceMs - setBackMs;
    },
  };
}
