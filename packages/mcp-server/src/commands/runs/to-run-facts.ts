import type { Run } from "@budgie/core";

/** A run for a program to read, with its times as ISO 8601; what is not known is left out. */
export function toRunFacts<Known extends Run>({ endedMs, startedMs, ...run }: Known) {
  return {
    ...run,
    started: new Date(startedMs).toISOString(),
    ended: endedMs === undefined ? undefined : new Date(endedMs).toISOString(),
    durationMs: endedMs === undefined ? undefined : Math.max(endedMs - startedMs, 0),
  };
}
