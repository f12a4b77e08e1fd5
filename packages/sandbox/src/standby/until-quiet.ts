import { setTimeout as sleep } from "node:timers/promises";
import type { LimitFunction } from "p-limit";

/** The container starts that are running or waiting. */
export type Starts = Pick<LimitFunction, "activeCount" | "pendingCount">;

const PAUSE_MS = 100;
// Turns that were called together start and end one after another.
const QUIET_MS = 500;

/**
 * Waits until no turn has started for half a second, since creating a container ahead would slow such a start down. Rejects when `signal`
 * aborts. Does not keep the process alive.
 */
export async function untilQuiet(starts: Starts, signal: AbortSignal): Promise<void> {
  for (let quietMs = 0; quietMs < QUIET_MS;) {
    await sleep(PAUSE_MS, undefined, { ref: false, signal });
    quietMs = starts.activeCount + starts.pendingCount > 0 ? 0 : quietMs + PAUSE_MS;
  }
}
