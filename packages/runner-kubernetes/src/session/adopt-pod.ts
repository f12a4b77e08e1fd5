import { setTimeout as sleep } from "node:timers/promises";
import { BudgieError, type SessionId } from "@budgie/core";
import { judgePod, type ClusterObject } from "../api/index.ts";
import { OURS, toMetadata } from "../lease/index.ts";
import { askPod } from "./ask-pod.ts";
import { connectPod, type PodOpening, type PodPlace } from "./open-pod.ts";
import type { LivePod } from "./live-pod.ts";

const QUIET_MS = 30_000;
const PAUSE_MS = 100;

/**
 * Takes over the Pod that a dead owner left of a session, and ends what runs in it; `undefined` if there is none that can be used. The caller
 * makes sure that the owner is dead.
 */
export async function adoptPod(
  place: PodPlace,
  opening: Pick<PodOpening, "onStream" | "session">,
): Promise<LivePod | undefined> {
  const { session } = opening;
  const found = await place.cluster.list("pods", `${OURS},dev.budgie.session=${session}`);
  const left = found.find((pod) => judgePod(pod).state === "running");
  if (left === undefined || !(await take(place, left, session))) return undefined;
  const remove = (): Promise<void> => place.cluster.remove("pods", left);
  try {
    const pod = await connectPod(place, {
      created: left,
      opening: { ...opening, wait: { limitMs: QUIET_MS } },
      remove,
    });
    await endProcesses(pod);
    return pod;
  } catch (error) {
    await remove().catch(() => undefined);
    if (error instanceof BudgieError && error.code === "CONFIG_INVALID") throw error;
    return undefined;
  }
}

/** Makes a Pod this budgie's own. Returns false if it changed meanwhile, such as by another budgie that takes it. */
async function take({ cluster, lease, owner }: PodPlace, pod: ClusterObject, session: SessionId): Promise<boolean> {
  const answer = await cluster.patch("pods", pod.name, {
    metadata: {
      ...toMetadata(owner, session, "session"),
      resourceVersion: pod.resourceVersion,
      ownerReferences: [lease.reference],
    },
  });
  return answer.outcome === "done";
}

/** Waits until the process of the budgie before has ended, which the new connection kills. */
async function endProcesses({ wire }: LivePod): Promise<void> {
  const until = performance.now() + QUIET_MS;
  for (;;) {
    try {
      await askPod(wire, { purpose: "control", ask: "idle" });
      return;
    } catch (error) {
      if (performance.now() >= until) throw error;
      await sleep(PAUSE_MS);
    }
  }
}
