import { setTimeout as sleep } from "node:timers/promises";

/** A point in time to compare file times with. */
export type NotedTime = {
  /** Resolves when any further write gets a later time: the file system's clock is coarse */
  readonly ready: Promise<unknown>;
  /** The noted time according to the current clock; `undefined` if the clock was set back too far to tell */
  readonly toSinceMs: () => number | undefined;
};

// Linux takes file times from the last tick of its clock, at most 10 ms ago.
const TICK_MS = 10;
// A clock set back by less than this is harmless: `ready` waits one tick longer than file times need.
const HARMLESS_MS = TICK_MS / 2;
const MOST_SET_BACK_MS = 1000;

/** Notes the current time. */
export function noteTime(): NotedTime {
  const began = compareClocks();
  // The end of this millisecond, so that a file that the caller has just written is older.
  const sinceMs = Date.now() + 1;
  return {
    ready: sleep(2 * TICK_MS),
    toSinceMs() {
      const setBackMs = began.mostMs - compareClocks().leastMs;
      if (setBackMs > MOST_SET_BACK_MS) return undefined;
      return setBackMs < HARMLESS_MS ? sinceMs : sinceMs - setBackMs;
    },
  };
}

/**
 * Returns bounds on how far the wall clock is ahead of the monotonic clock. A pause of this process between the two readings widens the
 * bounds: that may look like a clock that was set back, but cannot hide one. The best of three readings has no such pause.
 */
function compareClocks(): { mostMs: number; leastMs: number } {
  const readings = Array.from({ length: 3 }, () => {
    const beforeMs = performance.now();
    const wallMs = Date.now();
    return { mostMs: wallMs - beforeMs, leastMs: wallMs - performance.now() };
  });
  return {
    mostMs: Math.min(...readings.map(({ mostMs }) => mostMs)),
    leastMs: Math.max(...readings.map(({ leastMs }) => leastMs)),
  };
}

/** Returns true if a file's time is later than `sinceMs`. Allows for file systems that round down to 10 ms, 1 s or 2 s. */
export function isSince(timeMs: number, sinceMs: number): boolean {
  return timeMs > sinceMs - findStepMs(timeMs);
}

function findStepMs(timeMs: number): number {
  if (timeMs % 1000 === 0) return 2000;
  return timeMs % 10 === 0 ? 10 : 0;
}
