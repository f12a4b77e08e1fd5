import { setTimeout as sleep } from "node:timers/promises";
import { BudgieError, type ErrorCode, type SessionId } from "@budgie/core";
import type { ClusterObject } from "../api/index.ts";
import { OURS, toMetadata } from "../lease/index.ts";
import { judgePod, type PodState } from "../pods/judge-pod.ts";
import { askPod, isBusyAnswer } from "./ask-pod.ts";
import { connectPod } from "./connect-pod.ts";
import { removePod } from "./open-pod.ts";
import { namePod, type LivePod, type PodOpening, type PodPlace } from "./live-pod.ts";

const QUIET_MS = 30_000;
const PAUSE_MS = 100;
const MOST_TRIES = 5;
/** Codes of errors after which the Pod may live on. */
const MAY_LIVE: readonly ErrorCode[] = ["CONFIG_INVALID", "RUNNER_UNAVAILABLE"];

/**
 * Takes over the Pod that a dead owner left of a session, and ends what runs in it; `undefined` if there is none that can be used. It is good for
 * nothing but packing, since its walls were not proven here, and its shape may be any. One that cannot be reached stays, and may be tried again: nothing else has what the session did last. The caller makes sure that the owner is dead.
 */
export async function adoptPod(
  place: PodPlace,
  opening: Pick<PodOpening, "onStream" | "session">,
): Promise<LivePod | undefined> {
  const left = await takeLeft(place, opening.session);
  if (left === undefined) return undefined;
  const remove = (): Promise<void> => removePod(place, left);
  let pod: LivePod | undefined;
  try {
    pod = await connectPod(place, {
      created: left,
      opening: { ...opening, wait: { limitMs: QUIET_MS } },
      remove,
    });
    await endProcesses(pod);
    return pod;
  } catch (error) {
    pod?.wire.close();
    if (error instanceof BudgieError && MAY_LIVE.includes(error.code)) throw namePod(left, error);
    await remove().catch(() => undefined);
    return undefined;
  }
}

/** Finds the Pod, and makes it this budgie's own; `undefined` if there is none. The cluster changes Pods at any time, and then it is tried again. */
async function takeLeft(place: PodPlace, session: SessionId): Promise<ClusterObject | undefined> {
  for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
    const found = await place.cluster.list("pods", `${OURS},dev.budgie.session=${session}`);
    const findIn = (state: PodState["state"]) => found.find((pod) => judgePod(pod).state === state);
    // A Pod may work for seconds before the cluster says that it runs.
    const left = findIn("running") ?? findIn("waiting");
    if (left === undefined || (await take(place, left, session))) return left;
  }
  throw changingError(session);
}

/** Makes a Pod this budgie's own. Returns false if it changed meanwhile. */
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
      if (!isBusyAnswer(error) || performance.now() >= until) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

function changingError(session: SessionId): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The Pod of session "${session}" changed each time that budgie took it over. Try again.`,
  );
}
