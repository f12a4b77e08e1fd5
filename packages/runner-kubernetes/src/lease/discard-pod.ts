import type { Cluster } from "../api/index.ts";
import { CLOCK, pause, type Clock } from "../wire/index.ts";
import type { HeldLease } from "./hold-lease.ts";

/** The cluster of a Pod, and the lease that owns it. */
export type PodOwner = {
  readonly cluster: Pick<Cluster, "get" | "remove">;
  readonly lease: Pick<HeldLease, "ended">;
};

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/**
 * Removes a Pod that is of no use, or that the cluster may have created without an answer. Never rejects: if the cluster is away, it is tried again
 * in the background until the lease ends, with which the cluster removes the Pod.
 */
export async function discardPod({ cluster, lease }: PodOwner, name: string, clock: Clock = CLOCK): Promise<void> {
  async function discard(): Promise<boolean> {
    try {
      const answer = await cluster.get("pods", name);
      // One whose deletion was asked for is gone once its node is back.
      if (answer.outcome === "done" && !answer.object.isEnding) await cluster.remove("pods", answer.object);
      return true;
    } catch {
      return false;
    }
  }

  async function discardLater(): Promise<void> {
    const over = new AbortController();
    const { signal } = over;
    void lease.ended.then(() => over.abort());
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      await pause(pauseMs, { clock, signal });
      if (signal.aborted || (await discard())) return;
    }
  }

  if (!(await discard())) void discardLater();
}
