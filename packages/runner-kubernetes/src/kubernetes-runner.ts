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
import { orAborted } from "@budgie/core/bounds";
import type { GuardedPath } from "@budgie/core/policy";
import { connectCluster } from "./api/index.ts";
import { createContext, type RunnerParts } from "./create-context.ts";
import { createKubernetesSession } from "./kubernetes-session.ts";
import type { Opening, Suspendable } from "./turn/suspendable.ts";
import type { KubernetesRunnerOptions } from "./turn/kubernetes-runner-options.ts";
import { collectKubernetesGarbage, openKubernetesHomes } from "./maintenance/index.ts";
import type { Wall } from "./proof/index.ts";
import { createReadySessions } from "./session/ready-sessions.ts";
import { printInPod } from "./turn/print-in-pod.ts";

const CLOSE_MS = 3_000;
/** Turns that run at once are the cluster's to limit; a runner has to name some number. */
const CAPACITY = { cpus: 64, memoryBytes: 256 * 1024 ** 3 };

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
  let closing: Promise<void> | undefined;
  const pending = new Set<Promise<void>>();
  const sessions = new Map<SessionId, Promise<Suspendable>>();

  /** Keeps work in mind until it has ended, for which the end of the runner waits. */
  function track<T>(work: Promise<T>): Promise<T> {
    const forget = (): void => void pending.delete(ended);
    const ended: Promise<void> = work.then(forget, forget);
    pending.add(ended);
    return work;
  }

  async function openOnce(opening: Opening): Promise<Suspendable> {
    closed.signal.throwIfAborted();
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
    take() {
      const taken = closed.signal.aborted ? undefined : ready.take();
      return taken === undefined ? undefined : track(taken.then(enter));
    },
    count: () => ({ sessions: ready.count(), turns: 0 }),
  };

  /** Enters a session that was ready, unless the runner was closed meanwhile, which nobody told the session. */
  async function enter(session: Suspendable | undefined): Promise<SessionId | undefined> {
    if (session === undefined) return undefined;
    if (closed.signal.aborted) {
      await session.remove();
      return undefined;
    }
    sessions.set(session.id, Promise.resolve(session));
    ready.prepare();
    return session.id;
  }

  async function close(): Promise<void> {
    closed.abort(new BudgieError("CANCELLED", "budgie is shutting down."));
    const { closeMs = CLOSE_MS } = options;
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(lateError(closeMs)), closeMs).unref();
    const endings = [...sessions.values()].map(async (session) => {
      // Node warns of more than ten listeners of one signal.
      const signal = AbortSignal.any([limit.signal]);
      // One that could not be opened has nothing to end.
      const opened = session.catch(() => undefined);
      await (await orAborted(opened, signal))?.suspend(signal);
    });
    const results = await Promise.allSettled([...endings, ...pending, ready.close()]);
    clearTimeout(timer);
    const failed = results.find((result) => result.status === "rejected");
    // Sessions that could not be packed in time are in Pods still, where the next budgie finds them if it comes soon.
    const isLeft = options.keepSessionsMs !== undefined && failed !== undefined;
    await context.close(isLeft ? "leave Pods" : "remove Pods");
    if (failed !== undefined) throw failed.reason;
  }

  return {
    isolation: "container",
    notices: (options.acceptWeaker ?? []).map(toNotice),
    guarded: listAccessPaths(options),
    capacity: CAPACITY,
    imageId: options.image,
    ...((options.ahead ?? 0) > 0 ? { ahead } : {}),
    async print(argv) {
      closed.signal.throwIfAborted();
      return track(options.owner.hold().then(() => printInPod(context, argv, closed.signal)));
    },
    openSession: (id, { isKept } = {}) => openOnce({ id, origin: "new", isKept }),
    resumeSession: (id) => openOnce({ id, origin: "kept" }),
    listSessions: () => openKubernetesHomes({ ...place, owner: options.owner }).list(),
    collectGarbage: (policy) => collectKubernetesGarbage({ ...place, owner: options.owner, policy }),
    close: () => (closing ??= close()),
  };
}

function lateError(closeMs: number): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The sessions on the cluster could not be packed within ${closeMs / 1_000} seconds. Start budgie again within two minutes to go on with them.`,
  );
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
