import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { BudgieError, type SessionId } from "@budgie/core";
import type { OwnerRecord } from "@budgie/core/owners";
import {
  deletedError,
  explainEnd,
  findRefusal,
  type Cluster,
  type ClusterObject,
  type Manifest,
} from "../api/index.ts";
import { discardPod, toMetadata, type HeldLease } from "../lease/index.ts";
import { choosePodUser, toSandboxPod, type PodShape } from "../pod/index.ts";
import { BRIDGE, POD } from "../requests/index.ts";
import { openExec, type Wire, type WireStream } from "../wire/index.ts";
import { askPod } from "./ask-pod.ts";
import { awaitPod, cancelledError, FULL_PAUSE_MS, fullError, type PodWait } from "./await-pod.ts";
import type { FollowedPods } from "./follow-pods.ts";
import { keepConnected } from "./keep-connected.ts";
import { namePod, type LivePod } from "./live-pod.ts";

/** The cluster of a session's Pods, and this budgie there. */
export type PodPlace = {
  readonly cluster: Cluster;
  readonly owner: OwnerRecord;
  readonly lease: HeldLease;
  readonly pods: FollowedPods;
};

/** The Pod to open. */
export type PodOpening = {
  readonly session: SessionId;
  readonly shape: Omit<PodShape, "labels" | "mostSeconds" | "name" | "owner" | "user">;
  /** Takes a stream that the Pod opened */
  readonly onStream: (stream: WireStream) => void;
  readonly wait: PodWait;
};

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
    await awaitPod(place.pods, name, rest());
    return await connectPod(place, { created, opening, remove: () => removePod(place, created) });
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

/** A Pod that runs. */
type Running = {
  readonly created: Pick<ClusterObject, "name" | "uid">;
  readonly opening: Pick<PodOpening, "onStream" | "wait">;
  readonly remove: () => Promise<void>;
};

/** Connects to a Pod that runs. */
export async function connectPod(
  { cluster, lease, pods }: PodPlace,
  { created, opening, remove }: Running,
): Promise<LivePod> {
  const { name, uid } = created;
  const { signal = new AbortController().signal } = opening.wait;
  const wire = await keepConnected(
    {
      openBridge: async (over) => openExec({ ...(await cluster.execOptions(name, POD.sidecar, BRIDGE)), signal: over }),
      onStream: opening.onStream,
      mayConnect: lease.isFresh,
      findEnd: (failure) => findRefusal(cluster, created, failure),
    },
    signal,
  );
  try {
    const hello = await askPod(wire, { purpose: "control", ask: "hello" }, signal);
    const kernel = parseHello(hello);
    const areFoldersOwn = hello["areFoldersOwn"] !== false;
    const nodeAddress = await findNodeAddress(cluster, name);
    const explain = (reason: BudgieError): Promise<BudgieError> => explainEnd(cluster, name, reason);
    const { lost, unfollow } = watchLoss({ pods, name, explain }, wire);
    const end = async (): Promise<void> => {
      unfollow();
      wire.close();
      await remove();
    };
    return { name, uid, wire, kernel, areFoldersOwn, nodeAddress, service: hello["service"], lost, remove: end };
  } catch (error) {
    wire.close();
    throw error;
  }
}

type Watched = {
  readonly pods: FollowedPods;
  readonly name: string;
  readonly explain: (reason: BudgieError) => Promise<BudgieError>;
};

/** Follows a Pod to its end, and ends its wire then. The cluster's word comes first: it knows the reason. */
function watchLoss({ explain, name, pods }: Watched, wire: Wire) {
  let unfollow: () => void = () => undefined;
  const lost = new Promise<BudgieError>((resolve) => {
    unfollow = pods.follow(name, (state) => {
      if (state?.state === "failed") resolve(state.error);
      else if (state === undefined) resolve(deletedError(name));
    });
    void wire.ended.then((reason) => resolve(reason === undefined ? closedError(name) : explain(reason)));
  });
  void lost.then(() => wire.close());
  return { lost, unfollow };
}

async function findNodeAddress(cluster: Cluster, name: string): Promise<string | undefined> {
  const answer = await cluster.get("pods", name);
  const address = answer.outcome === "done" ? answer.object.status["hostIP"] : undefined;
  return typeof address === "string" && /^[0-9a-f.:]{3,45}$/i.test(address) ? address : undefined;
}

function parseHello({ landlock, ports }: Readonly<Record<string, unknown>>): LivePod["kernel"] {
  const [first, last] = Array.isArray(ports) ? (ports as readonly unknown[]) : [];
  if (isNumber(landlock) && isNumber(first) && isNumber(last) && first <= last && last < 65_536) {
    return { landlock, ports: [first, last] };
  }
  throw new BudgieError(
    "RUNNER_UNAVAILABLE",
    "The Pod did not describe its kernel as this version of budgie expects. Use the same version of budgie for its image.",
  );
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function closedError(name: string): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `Budgie has closed its connection to the Pod "${name}". Begin a new session.`,
  );
}

function foreignError(): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The cluster made the agent's folders for another user in ${MOST_TRIES} Pods. Check that budgie's image can be started there, and try again.`,
  );
}
