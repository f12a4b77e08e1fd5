import { randomInt, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { BudgieError, type SessionId } from "@budgie/core";
import type { OwnerRecord } from "@budgie/core/owners";
import type { Cluster, ClusterObject, Manifest } from "../api/index.ts";
import { toMetadata, type HeldLease } from "../lease/index.ts";
import { toSandboxPod, type PodShape } from "../pod/index.ts";
import { BRIDGE, POD } from "../requests/index.ts";
import { openExec, type Wire, type WireStream } from "../wire/index.ts";
import { askPod } from "./ask-pod.ts";
import { awaitPod, cancelledError, fullError, type PodWait } from "./await-pod.ts";
import { watchLoss, type FollowedPods } from "./follow-pods.ts";
import { keepConnected } from "./keep-connected.ts";
import type { LivePod, ReachedPod } from "./live-pod.ts";

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
  /** Hears when the sidecar answers, which may be before the agent's container runs */
  readonly onReached?: ((pod: ReachedPod) => void) | undefined;
  readonly wait: PodWait;
};

// A Pod without budgie ends itself after two minutes. This is for one whose program cannot do that any more.
const MOST_SECONDS = 7 * 24 * 60 * 60;
// Ids that no image and no person has.
const FIRST_UID = 100_000;
const LAST_UID = 2_000_000_000;
const QUOTA_PAUSE_MS = 2_000;
const MOST_TRIES = 3;

/**
 * Creates a Pod, waits until it runs, and connects to it. If that fails, no Pod is left. It is tried again if kubelet made the folders of the
 * agent before the sidecar ran: it does so when the sidecar's container cannot be made at once.
 */
export async function openPod(place: PodPlace, opening: PodOpening): Promise<LivePod> {
  for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
    const pod = await openOnce(place, opening);
    if (pod.areFoldersOwn) return pod;
    await pod.remove();
  }
  throw foreignError();
}

async function openOnce(place: PodPlace, opening: PodOpening): Promise<LivePod> {
  const { cluster, lease, owner } = place;
  const { session, shape } = opening;
  const name = `budgie-${session.slice(0, 8)}-${randomUUID().slice(0, 8)}`;
  const { annotations, labels } = toMetadata(owner, session, "session");
  const manifest = toSandboxPod({
    ...shape,
    name,
    labels,
    user: chooseUser(),
    owner: lease.reference,
    mostSeconds: MOST_SECONDS,
  });
  const created = await create(cluster, { ...manifest, metadata: { ...manifest.metadata, annotations } }, opening.wait);
  const remove = (): Promise<void> => cluster.remove("pods", created);
  const over = new AbortController();
  const signals = [over.signal, ...(opening.wait.signal === undefined ? [] : [opening.wait.signal])];
  const running = awaitPod(place.pods, name, { ...opening.wait, signal: AbortSignal.any(signals) });
  running.catch(() => undefined);
  const started = cluster.hearStart(created, POD.sidecar, over.signal);
  const finish = async (): Promise<void> => {
    over.abort();
    await running.catch(() => undefined);
  };
  try {
    return await connectPod(place, { created, opening, remove, begin: { running, started, finish } });
  } catch (error) {
    await finish();
    await remove().catch(() => undefined);
    throw error;
  }
}

/** Chooses the user of a Pod. The kernel counts the processes of a user on the whole node, and an agent's limit is for its own. */
function chooseUser(): PodShape["user"] {
  const id = randomInt(FIRST_UID, LAST_UID);
  return { uid: id, gid: id };
}

/** Creates the Pod once the namespace's quota has room for it. */
async function create(cluster: Cluster, manifest: Manifest, wait: PodWait): Promise<ClusterObject> {
  const until = performance.now() + wait.limitMs;
  for (let said = ""; ;) {
    if (wait.signal?.aborted === true) throw cancelledError();
    // One whose request was given up could be created all the same, and nobody would know of it.
    const answer = await cluster.create("pods", manifest);
    if (answer.outcome === "done") return answer.object;
    const why = answer.outcome === "wait" ? answer.why : "a Pod of its name exists";
    if (performance.now() >= until) throw fullError(why);
    if (why !== said) wait.onWait?.((said = why));
    await sleep(QUOTA_PAUSE_MS, undefined, { signal: wait.signal }).catch(() => undefined);
  }
}

/** A Pod that runs, or is on its way there. */
type Running = {
  readonly created: Pick<ClusterObject, "name" | "uid">;
  readonly opening: Pick<PodOpening, "onReached" | "onStream" | "wait">;
  readonly remove: () => Promise<void>;
  /** Left out for one that runs */
  readonly begin?: Begin | undefined;
};

/** The beginning of a Pod. */
type Begin = {
  /** Resolves once the cluster says that all its containers run. Rejects with the reason why they will not */
  readonly running: Promise<void>;
  /** Resolves to true once the sidecar's container runs, which is said earlier, or to false */
  readonly started: Promise<boolean>;
  /** Ends both waits */
  readonly finish: () => Promise<void>;
};

const RUNS: Begin = { running: Promise.resolve(), started: Promise.resolve(true), finish: async () => undefined };

/**
 * Connects to a Pod as soon as its sidecar runs. The cluster may say that a second later, and whatever fails before it does is tried once more
 * after that.
 */
export async function connectPod(place: PodPlace, running: Running): Promise<LivePod> {
  const { created, opening, remove, begin = RUNS } = running;
  const { name, uid } = created;
  const wire = await openWire(place, running);
  try {
    const reached = await reach(place, running, wire);
    if (reached.areFoldersOwn) opening.onReached?.(reached);
    const kernel = parseKernel(await askOnceRunning(begin, () => ask(wire, "kernel", opening)));
    await begin.finish();
    const { lost, unfollow } = watchLoss(place.pods, name, wire);
    const end = async (): Promise<void> => {
      unfollow();
      wire.close();
      await remove();
    };
    return { ...reached, name, uid, kernel, lost, remove: end };
  } catch (error) {
    wire.close();
    throw error;
  }
}

async function openWire({ cluster, lease }: PodPlace, { begin = RUNS, created, opening }: Running): Promise<Wire> {
  const { running, started } = begin;
  const { signal = new AbortController().signal } = opening.wait;
  const connect = () =>
    keepConnected(
      {
        openBridge: async (over) =>
          openExec({ ...(await cluster.execOptions(created.name, POD.sidecar, BRIDGE)), signal: over }),
        onStream: opening.onStream,
        mayConnect: lease.isFresh,
      },
      signal,
    );
  await Promise.race([running, started.then((isTold) => (isTold ? undefined : running))]);
  return askOnceRunning(begin, connect);
}

/** Asks, and asks again after the cluster has said that all containers run, if the first time was too early. */
async function askOnceRunning<T>({ running }: Pick<Begin, "running">, ask: () => Promise<T>): Promise<T> {
  let isRunning = false;
  const failing = running.then(
    () => ((isRunning = true), new Promise<never>(() => undefined)),
    (error: unknown) => Promise.reject(error),
  );
  // The promise of one that runs tells so by then.
  await undefined;
  const wasRunning = isRunning;
  const asking = ask().catch(async (error: unknown) => {
    if (wasRunning) throw error;
    await running;
    return ask();
  });
  return Promise.race([asking, failing]);
}

function ask(wire: Wire, what: "hello" | "kernel", { wait }: Pick<PodOpening, "wait">) {
  return askPod(wire, { purpose: "control", ask: what }, wait.signal);
}

/** Asks the sidecar, and the cluster for the address of the node. */
async function reach({ cluster }: PodPlace, { begin = RUNS, created, opening }: Running, wire: Wire) {
  const hello = await askOnceRunning(begin, () => ask(wire, "hello", opening));
  const find = () => findNodeAddress(cluster, created.name);
  // Kubelet may say it late.
  const nodeAddress = (await find()) ?? (await begin.running.then(find));
  return { wire, nodeAddress, service: hello["service"], areFoldersOwn: hello["areFoldersOwn"] !== false };
}

async function findNodeAddress(cluster: Cluster, name: string): Promise<string | undefined> {
  const answer = await cluster.get("pods", name);
  const address = answer.outcome === "done" ? answer.object.status["hostIP"] : undefined;
  return typeof address === "string" && /^[0-9a-f.:]{3,45}$/i.test(address) ? address : undefined;
}

function parseKernel({ landlock, ports }: Readonly<Record<string, unknown>>): LivePod["kernel"] {
  const [first, last] = Array.isArray(ports) ? (ports as readonly unknown[]) : [];
  if (isNumber(landlock) && isNumber(first) && isNumber(last) && first <= last && last < 65_536) {
    return { landlock, ports: [first, last] };
  }
  throw new BudgieError(
    "RUNNER_UNAVAILABLE",
    "The Pod said nothing of its kernel that budgie knows. Use the same version of budgie for its image.",
  );
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function foreignError(): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The cluster made the agent's folders for another user in ${MOST_TRIES} Pods. Check that budgie's image can be started there, and try again.`,
  );
}
