import { setTimeout as sleep } from "node:timers/promises";
import type { LimitFunction } from "p-limit";

/** The container starts that are running or waiting. */
export type Starts = Pick<LimitFunction, "activeCount" | "pendingCount">;

/** The starts and ends of a runner's turns. */
export type Activity = {
  readonly starts: Starts;
  /** Returns the time of the last start or end, by the clock of `performance` */
  readonly lastMs: () => number;
};

const PAUSE_MS = 100;
// Turns that were called together start and end one after another.
const QUIET_MS = 500;

/**
 * Waits until no turn has started or ended for half a second, since creating a container ahead would slow such a start down, and what a turn
 * does before its answer. What is made next needs no further wait. Rejects when `signal` aborts. Does not keep the process alive.
 */
export async function untilQuiet(activity: Activity, signal: AbortSignal): Promise<void> {
  while (!isQuiet(activity)) await sleep(PAUSE_MS, undefined, { ref: false, signal });
}

function isQuiet({ lastMs, starts }: Activity): boolean {
  return starts.activeCount + starts.pendingCount === 0 && performance.now() - lastMs() >= QUIET_MS;
}
