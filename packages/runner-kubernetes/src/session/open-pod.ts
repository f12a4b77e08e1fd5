import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { BudgieError } from "@budgie/core";
import type { Cluster, ClusterObject, Manifest } from "../api/index.ts";
import { discardPod, toMetadata } from "../lease/index.ts";
import { choosePodUser, toSandboxPod } from "../pod/index.ts";
import { POD } from "../requests/index.ts";
import { awaitPod, cancelledError, FULL_PAUSE_MS, fullError, type PodWait } from "./await-pod.ts";
import { connectPod, type Begin } from "./connect-pod.ts";
import { namePod, type LivePod, type PodOpening, type PodPlace } from "./live-pod.ts";

// A Pod without budgie ends itself after two minutes. This is for one whose program cannot do that any more.
const MOST_SECONDS = 7 * 24 * 60 * 60;
const MOST_TRIES = 3;

/**
 * Creates a Pod, waits until it runs, and connects to it. If that fails, no Pod is left. It is tried again if kubelet made the folders of the
 * agent before the sidecar ran: it does so when the sidecar's container cannot be made at once.
 */
export async function openPod(place: PodPlace, opening: PodOpening): Promise<LivePod> {
  const until = performance.now() + opening.wait.limitMs;
  // The quota, the start and each try wait for the same moment.
  const rest = (): PodWait => ({ ...opening.wait, limitMs: Math.max(0, Math.ceil(until - performance.now())) });
  for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
    const pod = await openOnce(place, opening, rest);
    if (pod.areFoldersOwn) return pod;
    await pod.remove();
  }
  throw foreignError();
}

async function openOnce(place: PodPlace, opening: PodOpening, rest: () => PodWait): Promise<LivePod> {
  const { cluster, lease, owner } = place;
  const { session, shape } = opening;
  const name = `budgie-${session.slice(0, 8)}-${randomUUID().slice(0, 8)}`;
  const { annotations, labels } = toMetadata(owner, session, "session");
  const manifest = toSandboxPod({
    ...shape,
    name,
    labels,
    user: choosePodUser(),
    owner: lease.reference,
    mostSeconds: MOST_SECONDS,
  });
  try {
    const named = { ...manifest, metadata: { ...manifest.metadata, annotations } };
    const created = await create(cluster, named, rest());
    const begin = followBegin(place, created, rest());
    try {
      return await connectPod(place, { created, opening, remove: () => removePod(place, created), begin });
    } finally {
      await begin.finish();
    }
  } catch (error) {
    // Also one whose creation was not answered.
    await discardPod(place, name);
    throw namePod({ name }, error);
  }
}

/** Removes a Pod. Nobody asks again for one that could not be removed, so that is tried in the background then. */
export async function removePod(place: PodPlace, pod: Pick<ClusterObject, "name" | "uid">): Promise<void> {
  try {
    await place.cluster.remove("pods", pod);
  } catch (error) {
    void discardPod(place, pod.name);
    throw error;
  }
}

type NamedManifest = Manifest & { readonly metadata: { readonly name: string } };

/** Creates the Pod once the namespace's quota has room for it. */
async function create(cluster: Cluster, manifest: NamedManifest, wait: PodWait): Promise<ClusterObject> {
  const until = performance.now() + wait.limitMs;
  for (let said = ""; ;) {
    if (wait.signal?.aborted === true) throw cancelledError();
    // One whose request was cancelled could be created all the same, and nobody would know of it.
    const answer = await cluster.create("pods", manifest);
    if (answer.outcome === "done") return answer.object;
    const why = answer.outcome === "wait" ? answer.why : "a Pod of its name exists";
    if (performance.now() >= until) throw fullError(manifest.metadata.name, why);
    if (why !== said) wait.onWait?.((said = why));
    wait.onFull?.();
    const pauseMs = Math.min(FULL_PAUSE_MS, until - performance.now());
    await sleep(pauseMs, undefined, { signal: wait.signal }).catch(() => undefined);
  }
}

/** Follows the beginning of a Pod. */
function followBegin({ cluster, pods }: PodPlace, created: ClusterObject, wait: PodWait): Begin {
  const over = new AbortController();
  const signals = [over.signal, ...(wait.signal === undefined ? [] : [wait.signal])];
  let hasBegun = false;
  const running = awaitPod(pods, created.name, { ...wait, signal: AbortSignal.any(signals) });
  running.then(
    () => (hasBegun = true),
    () => undefined,
  );
  return {
    running,
    hasBegun: () => hasBegun,
    started: cluster.hearStart(created, POD.sidecar, over.signal),
    async finish() {
      over.abort();
      await running.catch(() => undefined);
    },
  };
}

function foreignError(): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The cluster made the agent's folders for another user in ${MOST_TRIES} Pods. Check that budgie's image can be started there, and try again.`,
  );
}
