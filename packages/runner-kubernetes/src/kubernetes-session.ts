import {
  BudgieError,
  type AgentProcess,
  type Command,
  type RunnerSession,
  type SessionId,
  type StartOptions,
} from "@budgie/core";
import { DEFAULT_ACCESS } from "@budgie/core/policy";
import { createHomeFiles } from "@budgie/sandbox/home";
import { findWorkspacePath, SANDBOX } from "@budgie/sandbox/profile";
import { createPodEgress, sendTrust } from "./egress/index.ts";
import { checkAccess } from "./files/check-access.ts";
import { coverHome } from "./files/cover-home.ts";
import { createPodCopy } from "./files/create-pod-copy.ts";
import { createPodHome } from "./files/create-pod-home.ts";
import { createHomeFilling, type HomeFilling } from "./files/create-home-filling.ts";
import { keepInUse } from "./files/keep-in-use.ts";
import { hideCovers } from "./files/find-kinds.ts";
import { readHomeCovers, type ShownPlace } from "./files/read-home-covers.ts";
import { adoptPod } from "./session/adopt-pod.ts";
import { checkCommand, checkDirectory } from "./turn/check-command.ts";
import type { ClusterContext } from "./turn/cluster-context.ts";
import { createDiskReports } from "./session/disk-reports.ts";
import type { LivePod } from "./session/live-pod.ts";
import { openPod, type PodOpening } from "./session/open-pod.ts";
import type { PodWait } from "./session/await-pod.ts";
import { createPodProcesses } from "./session/pod-processes.ts";
import type { Preparable } from "./session/ready-sessions.ts";
import { createSessionPod } from "./session/session-pod.ts";
import { joinSignals } from "./turn/join-signals.ts";
import { toOrder } from "./turn/to-order.ts";
import { toShape } from "./turn/to-shape.ts";
import type { WireStream } from "./wire/index.ts";

/** A session of this process, which another process can resume later. */
export type Suspendable = RunnerSession &
  Preparable & {
    /** Stops its process, packs what it has without the login, and removes its Pod */
    readonly suspend: (signal: AbortSignal) => Promise<void>;
  };

/** The session to open: a new one, or one of a dead owner. */
export type Opening = { readonly id: SessionId; readonly origin: "new" | "kept" };

const NOTHING = { isPacked: false, fillId: undefined };
const WAIT_MS = 10 * 60_000;
const PACK_MS = 10 * 60_000;

/** Opens a session, which gets a Pod when something needs one. */
export async function createKubernetesSession(context: ClusterContext, { id, origin }: Opening): Promise<Suspendable> {
  const { idle, kept, options, place, proxies } = context;
  const { keepSessionsMs: keepMs } = options;
  const egress = createPodEgress(proxies.reserve());
  const processes = createPodProcesses();
  const disk = createDiskReports();
  const removed = new AbortController();
  const starting = new Set<Promise<unknown>>();
  // No agent has used a new home.
  let wasUsed = origin === "kept";
  const onStream = (stream: WireStream): void =>
    stream.opening.purpose === "egress" ? egress.carry(stream) : processes.takeStderr(stream);

  let left: LivePod | undefined;
  const adopt = async (): Promise<boolean> => {
    left = await adoptPod(await place(), { session: id, onStream });
    return left !== undefined;
  };
  if (origin === "new") await kept.begin(id, keepMs);
  const packed = origin === "new" ? NOTHING : await kept.take(id, { keepMs, adopt });
  let { isPacked } = packed;
  const use = { begin: () => idle.acquire(idler), end: () => idle.release(idler) };
  const copy = keepInUse(createPodCopy({ session: id, fillId: packed.fillId, openPod: openPresent }), use);
  if (left !== undefined) await copy.enter(left);
  const archive = createPodHome(async () => (await openPresent()).wire);
  const files = createHomeFiles(archive);
  let hear: (why: string) => void = () => undefined;
  let filling: { readonly of: LivePod; readonly home: HomeFilling } | undefined;
  const pod = createSessionPod({
    session: id,
    usualShape: toShape(context, { directory: SANDBOX.workspace }),
    left,
    open: openNew,
    async pack(live, shape, signal) {
      await fillingOf(live).clear(signal);
      const { copyBytes, homeBytes } = shape.limits;
      await kept.pack(live, {
        session: id,
        fillId: await copy.fillId(),
        limits: { copyBytes, homeBytes },
        keepMs,
        signal,
      });
      isPacked = true;
      copy.leave();
    },
  });
  const idler = { stop: () => pod.leave(AbortSignal.timeout(PACK_MS)) };

  async function openPresent(signal?: AbortSignal): Promise<LivePod> {
    removed.signal.throwIfAborted();
    // What uses the Pod from now on has the whole time until it is left, however long the cluster took.
    use.begin();
    const opened = pod.open({ signal: joinSignals(removed.signal, signal) });
    return opened.finally(use.end);
  }

  async function openNew(shape: PodOpening["shape"], { signal }: Pick<PodWait, "signal">): Promise<LivePod> {
    const wait = { limitMs: options.waitMs ?? WAIT_MS, signal, onWait: (why: string) => hear(why) };
    const fresh = await openPod(await place(), { session: id, shape, onStream, wait });
    try {
      if (context.trust !== undefined) await sendTrust(fresh.wire, context.trust, signal);
      await context.gate.prove(fresh, (order) => processes.print(fresh, order), signal);
      if (isPacked) await kept.restore(fresh, id, signal);
      await copy.enter(fresh);
      // From now on the Pod has what is newest.
      await kept.markStale(id);
      return fresh;
    } catch (error) {
      await fresh.remove().catch(() => undefined);
      throw error;
    }
  }

  function fillingOf(live: LivePod): HomeFilling {
    if (filling?.of !== live) {
      const home = { archive: createPodHome(async () => live.wire), scratchDir: context.scratchDir, exists: wasUsed };
      filling = { of: live, home: createHomeFilling(home, options.login) };
    }
    return filling.home;
  }

  async function start(command: Command, given: StartOptions): Promise<AgentProcess> {
    removed.signal.throwIfAborted();
    const { access = DEFAULT_ACCESS, directory } = given;
    checkAccess(access);
    checkCommand(command, options.image);
    await checkDirectory(directory);
    const signal = joinSignals(removed.signal, given.signal);
    const network = egress.join(access.egress);
    idle.acquire(idler);
    const leave = async (): Promise<void> => {
      await network.close();
      idle.release(idler);
    };
    try {
      const shape = toShape(context, given);
      const live = await pod.open({ signal }, shape);
      await Promise.all([network.guarded, prepareFiles(live, command, { ...shape, signal }), given.ready]);
      const order = toOrder(context, { command, options: given, hasProxy: network.hasProxy });
      // A session that ends meanwhile stops it later, as one that runs.
      const child = await processes.start(live, { order, input: given.input, signal: given.signal });
      wasUsed = true;
      const closing = child.exit.then(leave, leave);
      return {
        ...child,
        egress: async () => (await closing, network.take()),
        disk: () => disk.take(live.wire),
      };
    } catch (error) {
      await leave();
      throw error;
    }
  }

  /** Brings the home and the copy to where a command may begin. */
  async function prepareFiles(
    live: LivePod,
    command: Command,
    { shownPath, signal }: ShownPlace & { readonly signal: AbortSignal },
  ): Promise<void> {
    const [covers, ofHome] = await Promise.all([
      copy.findCovers(live, command),
      readHomeCovers(command, { shownPath }),
      fillingOf(live).fill(command, signal),
    ]);
    await coverHome(live.wire, ofHome);
    await hideCovers(live.wire, covers);
  }

  async function stop(): Promise<void> {
    removed.abort(endedError(id));
    idle.forget(idler);
    await Promise.allSettled(starting);
    await processes.stop("shutdown");
  }

  return {
    id,
    serve: egress.serve,
    paths: (directory, workspacePath) => ({
      workspace: findWorkspacePath({ directory, workspacePath }),
      home: SANDBOX.home,
    }),
    start(command, given) {
      const started = start(command, given);
      starting.add(started);
      return started.finally(() => starting.delete(started));
    },
    readFile: files.read,
    appendFile: files.append,
    copy: () => copy,
    warmUp: () => openPresent().then(() => undefined),
    isLost: pod.isLost,
    hearWaits: (next) => void (hear = next),
    async remove() {
      await stop();
      await Promise.all([egress.close(), pod.remove()]);
      await kept.remove(id);
    },
    async suspend(signal) {
      await stop();
      await egress.close();
      await pod.leave(signal);
    },
  };
}

function endedError(id: SessionId): BudgieError {
  return new BudgieError("SESSION_NOT_FOUND", `The session "${id}" has ended. Leave its id out to begin a new one.`);
}
