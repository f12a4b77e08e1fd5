import type { ClusterObject } from "../api/index.ts";
import { CLOCK, type Clock } from "../wire/index.ts";
import { ABANDONED_MS } from "./hold-lease.ts";

/** Judges leases of other budgies by watching them, since the clocks of their machines may be wrong. */
export type LeaseJudge = {
  /** Returns true once a lease has been seen unchanged for 240 s. Call it again and again */
  readonly isAbandoned: (lease: Pick<ClusterObject, "uid" | "resourceVersion">) => boolean;
};

const MOST_LEASES = 10_000;

/** Creates a judge that has seen nothing yet. */
export function createLeaseJudge(clock: Clock = CLOCK): LeaseJudge {
  const seen = new Map<string, { readonly version: string; readonly at: number }>();
  return {
    isAbandoned({ resourceVersion: version, uid }) {
      const last = seen.get(uid);
      if (last?.version === version) return clock.now() - last.at >= ABANDONED_MS;
      if (seen.size >= MOST_LEASES) seen.clear();
      seen.set(uid, { version, at: clock.now() });
      return false;
    },
  };
}
