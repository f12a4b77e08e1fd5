import { rmSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import {
  BudgieError,
  createSessionId,
  formatOption,
  type Runner,
  type RunnerAhead,
  type SessionId,
} from "@budgie/core";
import { chooseDefaultLimits, type GuardedPath } from "@budgie/core/policy";
import { createIdleContainers, createProxyFolder } from "@budgie/sandbox/egress";
import { connectCluster, type Cluster } from "./api/index.ts";
import { readTrust } from "./egress/index.ts";
import { createKeptSessions } from "./keeping/create-kept-sessions.ts";
import { createKubernetesSession } from "./kubernetes-session.ts";
import type { Opening, Suspendable } from "./turn/suspendable.ts";
import type { KubernetesRunnerOptions } from "./turn/kubernetes-runner-options.ts";
import { holdLease } from "./lease/index.ts";
import { collectKubernetesGarbage, openKubernetesHomes } from "./maintenance/index.ts";
import { createGate, type Wall } from "./proof/index.ts";
import type { ClusterContext } from "./turn/cluster-context.ts";
import { createReadySessions } from "./session/ready-sessions.ts";
import { followPods, type FollowedPods } from "./session/follow-pods.ts";
import type { PodPlace } from "./session/open-pod.ts";
import { printInPod } from "./turn/print-in-pod.ts";

const POD_IDLE_MS = 5 * 60_000;
// The cluster itself has quotas.
const MOST_IDLE_PODS = 32;
const CLOSE_LIMIT_MS = 3_000;
/** Turns that run at once are the cluster's to limit; a runner has to name some number. */
const CAPACITY = { cpus: 64, memoryBytes: 256 * 1024 ** 3 };
/** An agent that works has two processors, as a small node has to spare. */
const CPUS = 2;

/** The parts that the claims' lab replaces. */
type RunnerParts = Pick<Parameters<typeof createProxyFolder>[0], "startProxy">;

/**
 * Creates the runner that gives every session a Pod of its own on a cluster. Throws `CONFIG_INVALID` for a kubeconfig that cannot be used, and
 * `RUNNER_UNAVAILABLE` if the cluster does not answer.
 */
export async function createKubernetesRunner(
  options: KubernetesRunnerOptions,
  parts: RunnerParts = {},
): Promise<Runner> {
  const cluster = await connectCluster(options);
  await cluster.version();
  const context = createContext(cluster, options, parts);
  const place = { cluster, stateDir: options.stateDir };
  const closed = new AbortController();
  const printing = new Set<Promise<void>>();
  const sessions = new Map<SessionId, Promise<Suspendable>>();

  function openOnce(opening: Opening): Promise<Suspendable> {
    const session = sessions.get(opening.id) ?? open(opening);
    sessions.set(opening.id, session);
    // A failed session can be opened again.
    session.catch(() => sessions.delete(opening.id));
    return session;
  }

  async function open(opening: Opening): Promise<Suspendable> {
    await options.owner.hold();
    return follow(await createKubernetesSession(context, opening));
  }

  function follow(session: Suspendable): Suspendable {
    const forget = (): void => void sessions.delete(session.id);
    return {
      ...session,
      remove: () => session.remove().then(forget),
      suspend: (signal) => session.suspend(signal).then(forget),
    };
  }

  const ready = createReadySessions(options.ahead ?? 0, () => open({ id: createSessionId(), origin: "new" }));
  const ahead: RunnerAhead = {
    prepare: ready.prepare,
    take: () =>
      ready.take()?.then((session) => {
        if (session !== undefined) sessions.set(session.id, Promise.resolve(session));
        ready.prepare();
        return session?.id;
      }),
    count: () => ({ sessions: ready.count(), turns: 0 }),
  };

  return {
    isolation: "container",
    notices: (options.acceptWeaker ?? []).map(toNotice),
    guarded: listAccessPaths(options),
    capacity: CAPACITY,
    imageId: options.image,
    ...((options.ahead ?? 0) > 0 ? { ahead } : {}),
    print(argv) {
      const printed = options.owner.hold().then(() => printInPod(context, argv, closed.signal));
      const ended = printed
        .then(
          () => undefined,
          () => undefined,
        )
        .then(() => void printing.delete(ended));
      printing.add(ended);
      return printed;
    },
    openSession: (id, { isKept } = {}) => openOnce({ id, origin: "new", isKept }),
    resumeSession: (id) => openOnce({ id, origin: "kept" }),
    listSessions: () => openKubernetesHomes({ ...place, owner: options.owner }).list(),
    collectGarbage: (policy) => collectKubernetesGarbage({ ...place, owner: options.owner, policy }),
    async close() {
      closed.abort(new BudgieError("CANCELLED", "budgie is shutting down."));
      const signal = AbortSignal.timeout(CLOSE_LIMIT_MS);
      const isKept = options.keepSessionsMs !== undefined;
      const endings = [...sessions.values()].map((session) =>
        session.then((opened) => (isKept ? opened.suspend(signal) : opened.remove())),
      );
      const results = await Promise.allSettled([...endings, ...printing, ready.close()]);
      const failed = results.find((result) => result.status === "rejected");
      // Sessions that could not be packed in time are in Pods still, where the next budgie finds them if it comes soon.
      await context.close(isKept && failed !== undefined ? "leave Pods" : "remove Pods");
      if (failed !== undefined) throw failed.reason;
    },
  };
}

const WALLS: Readonly<Record<Wall, string>> = {
  policy: "without a network policy that holds",
  jail: "without a jail around its network that holds",
  "own-node": "on a node that it can reach",
};

function toNotice(wall: Wall): string {
  return `You accepted with ${formatOption("acceptWeaker")} ${wall} that an agent may run ${WALLS[wall]}.`;
}

/** Lists the files that no workspace may contain: with them, an agent could start Pods of its own. */
function listAccessPaths({ kubeconfig }: KubernetesRunnerOptions): readonly GuardedPath[] {
  const named = kubeconfig ?? process.env["KUBECONFIG"];
  const paths = named?.split(delimiter).filter((path) => path !== "") ?? [];
  return [join(homedir(), ".kube"), ...paths].map((path) => ({ path, what: "the credentials of a cluster" }));
}

type OpenContext = ClusterContext & { readonly close: (how: "leave Pods" | "remove Pods") => Promise<void> };

function createContext(cluster: Cluster, options: KubernetesRunnerOptions, parts: RunnerParts): OpenContext {
  const { owner, stateDir } = options;
  const { instance } = owner.record;
  const scratchDir = join(stateDir, "scratch", instance);
  const noProxy = process.env["NO_PROXY"] ?? process.env["no_proxy"] ?? "";
  const upstream = options.upstreamProxy === undefined ? undefined : { url: options.upstreamProxy, noProxy };
  const proxies = createProxyFolder({ stateDir, instance, upstream, ...parts });
  const followed = new Set<FollowedPods>();
  let opening: Promise<PodPlace> | undefined;

  async function openPlace(): Promise<PodPlace> {
    const lease = await holdLease(cluster, owner.record);
    const pods = followPods(cluster, `dev.budgie.instance=${instance}`);
    followed.add(pods);
    // With the lease, the cluster removes all its Pods, whose sessions hear of that. Later ones need another lease.
    void lease.ended.then(() => (opening = undefined));
    return { cluster, owner: owner.record, lease, pods };
  }

  function place(): Promise<PodPlace> {
    const opened = (opening ??= openPlace());
    opened.catch(() => (opening = undefined));
    return opened;
  }

  return {
    options,
    limits: { ...chooseDefaultLimits(CPUS), cpus: CPUS, ...options.limits },
    place,
    proxies,
    gate: createGate(cluster, { accepted: options.acceptWeaker ?? [], ports: options.ports ?? [] }),
    kept: createKeptSessions({ stateDir, owner }),
    idle: createIdleContainers({ idleMs: options.podIdleMs ?? POD_IDLE_MS, most: MOST_IDLE_PODS }),
    trust: options.caFile === undefined ? undefined : readTrust(options.caFile),
    scratchDir,
    async close(how) {
      const opened = await opening?.catch(() => undefined);
      for (const pods of followed) pods.close();
      if (how === "leave Pods") opened?.lease.abandon();
      else await opened?.lease.release();
      rmSync(scratchDir, { recursive: true, force: true });
      await proxies.close();
    },
  };
}
