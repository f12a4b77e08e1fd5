import { setImmediate } from "node:timers/promises";
import { BudgieError } from "@budgie/core";
import type { Cluster, ClusterObject } from "../api/index.ts";
import { parseMetadata } from "../lease/index.ts";
import { explainEnd } from "../pods/explain-end.ts";
import { findRefusal } from "../pods/find-refusal.ts";
import { watchLoss } from "../pods/follow-pods.ts";
import { BRIDGE, POD } from "../requests/index.ts";
import { openExec, type Wire } from "../wire/index.ts";
import { askPod } from "./ask-pod.ts";
import { keepConnected } from "./keep-connected.ts";
import type { LivePod, PodOpening, PodPlace } from "./live-pod.ts";

/** A Pod that runs, or is on its way there. */
type Running = {
  readonly created: Pick<ClusterObject, "name" | "uid">;
  readonly opening: Pick<PodOpening, "onReached" | "onStream" | "wait">;
  readonly remove: () => Promise<void>;
  /** Left out for one that runs */
  readonly begin?: Begin | undefined;
};

/** The beginning of a Pod. */
export type Begin = {
  /** Resolves once the cluster says that all its containers run. Rejects with the reason why they will not */
  readonly running: Promise<void>;
  /** Returns true once it has resolved */
  readonly hasBegun: () => boolean;
  /** Resolves to true once the sidecar's container runs, which is said earlier, or to false */
  readonly started: Promise<boolean>;
  /** Ends both waits */
  readonly finish: () => Promise<void>;
};

const RUNS: Begin = {
  running: Promise.resolve(),
  hasBegun: () => true,
  started: Promise.resolve(true),
  finish: async () => undefined,
};

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
    const explain = (reason: BudgieError): Promise<BudgieError> => explainEnd(place.cluster, name, reason);
    const { lost, unfollow } = watchLoss({ pods: place.pods, name, explain }, wire);
    const end = async (): Promise<void> => {
      unfollow();
      wire.close();
      // Without the lease it is the cluster's or the next budgie's, and another budgie may have taken it over before.
      if ((await isHeld(place.lease)) && (await isOwn(place, name))) await remove();
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
        findEnd: (failure) => findRefusal(cluster, created, failure),
      },
      signal,
    );
  await Promise.race([running, started.then((isTold) => (isTold ? undefined : running))]);
  return askOnceRunning(begin, connect);
}

/** Asks, and asks again after the cluster has said that all containers run, if the first time was too early. */
function askOnceRunning<T>(
  { hasBegun, running }: Pick<Begin, "hasBegun" | "running">,
  ask: () => Promise<T>,
): Promise<T> {
  const isTooEarly = !hasBegun();
  const failing = running.then(() => new Promise<never>(() => undefined));
  const asking = ask().catch(async (error: unknown) => {
    if (!isTooEarly) throw error;
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
  const find = () => findNodeAddress(cluster, created.name);
  const found = find();
  found.catch(() => undefined);
  const hello = await askOnceRunning(begin, () => ask(wire, "hello", opening));
  // Kubelet may say it late.
  const nodeAddress = (await found) ?? (await find()) ?? (await begin.running.then(find));
  return { wire, nodeAddress, service: hello["service"], areFoldersOwn: hello["areFoldersOwn"] !== false };
}

function isHeld({ ended }: PodPlace["lease"]): Promise<boolean> {
  return Promise.race([ended.then(() => false), setImmediate(true)]);
}

async function isOwn({ cluster, owner }: PodPlace, name: string): Promise<boolean> {
  const answer = await cluster.get("pods", name);
  return answer.outcome === "done" && parseMetadata(answer.object).instance === owner.instance;
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
    "The Pod did not describe its kernel as this version of budgie expects. Use the same version of budgie for its image.",
  );
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
