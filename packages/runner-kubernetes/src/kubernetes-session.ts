import { BudgieError, type AgentProcess, type Command, type SessionId, type StartOptions } from "@budgie/core";
import { orAborted } from "@budgie/core/bounds";
import { DEFAULT_ACCESS } from "@budgie/core/policy";
import { createHomeFiles } from "@budgie/sandbox/home";
import { findWorkspacePath, SANDBOX } from "@budgie/sandbox/profile";
import { createPodEgress } from "./egress/index.ts";
import { checkAccess } from "./files/check-access.ts";
import { createPodCopy } from "./files/create-pod-copy.ts";
import { createPodHome } from "./files/create-pod-home.ts";
import { createHomeFilling, type HomeFilling } from "./files/create-home-filling.ts";
import { prepareFiles } from "./files/prepare-files.ts";
import { adoptPod } from "./session/adopt-pod.ts";
import { checkCommand, checkDirectory } from "./turn/check-command.ts";
import type { ClusterContext } from "./turn/cluster-context.ts";
import { createDiskReports } from "./session/disk-reports.ts";
import type { LivePod } from "./session/live-pod.ts";
import type { PodOpening } from "./session/open-pod.ts";
import { cancelledError, type PodWait } from "./session/await-pod.ts";
import { busyError, createPodProcesses } from "./session/pod-processes.ts";
import { createSessionPod } from "./session/session-pod.ts";
import { createPodUse } from "./turn/create-pod-use.ts";
import { joinSignals } from "./turn/join-signals.ts";
import { openFilledPod } from "./turn/open-filled-pod.ts";
import type { Opening, Suspendable } from "./turn/suspendable.ts";
import { createWaits } from "./turn/create-waits.ts";
import { toOrder } from "./turn/to-order.ts";
import { toShape } from "./turn/to-shape.ts";
import { toTerminal } from "./turn/to-terminal.ts";
import type { WireStream } from "./wire/index.ts";

const NOTHING = { isPacked: false, fillId: undefined };
const WAIT_MS = 10 * 60_000;
/** Between a turn and what budgie reads of it, a Pod may be idle for a moment. */
const LEAST_IDLE_MS = 1_000;
const PACK_MS = 10 * 60_000;

/** Opens a session, which gets a Pod when something needs one. */
export async function createKubernetesSession(
  context: ClusterContext,
  { id, isKept = true, origin }: Opening,
): Promise<Suspendable> {
  const { idle, kept, options, place, proxies } = context;
  const keepMs = isKept ? options.keepSessionsMs : undefined;
  const egress = createPodEgress(proxies.reserve());
  const processes = createPodProcesses();
  const disk = createDiskReports();
  const removed = new AbortController();
  const discarded = new AbortController();
  const starting = new Set<Promise<unknown>>();
  // A process runs, or starts.
  let isTaken = false;
  // No agent has used a new home.
  let wasUsed = origin === "kept";
  const onStream = (stream: WireStream): void =>
    stream.opening.purpose === "egress" ? egress.carry(stream) : processes.takeStderr(stream);

  let left: LivePod | undefined;
  const adopt = async (): Promise<boolean> => {
    left = await adoptPod(await place(), { session: id, onStream });
    return left !== undefined;
  };
  // The next try takes it over again, as long as it lives.
  const abandon = async (error: unknown): Promise<never> => {
    left?.wire.close();
    await egress.close();
    throw error;
  };
  if (origin === "new") await kept.begin(id, keepMs).catch(abandon);
  const packed = origin === "new" ? NOTHING : await kept.take(id, { keepMs, adopt }).catch(abandon);
  let { isPacked } = packed;
  const copy = createPodCopy({ session: id, fillId: packed.fillId, openPod: openPresent });
  if (left !== undefined) await copy.enter(left).catch(abandon);
  const archive = createPodHome(async () => (await openPresent()).wire);
  const files = createHomeFiles(archive);
  const waits = createWaits();
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
  const idler = { stop: () => pod.leave(AbortSignal.any([AbortSignal.timeout(PACK_MS), discarded.signal])) };
  const use = createPodUse({ idle, idler, ended: removed.signal });
  const usedCopy = use.ofCopy(copy);

  async function openPresent(signal?: AbortSignal): Promise<LivePod> {
    removed.signal.throwIfAborted();
    return pod.open({ signal: joinSignals(removed.signal, signal) });
  }

  function openNew(shape: PodOpening["shape"], { signal }: Pick<PodWait, "signal">): Promise<LivePod> {
    // A Pod that waits for a next turn gives way to a session that waits for its first.
    const onFull = (): void => idle.stopLongest(LEAST_IDLE_MS);
    const wait = { limitMs: options.waitMs ?? WAIT_MS, signal, onWait: waits.tell, onFull };
    const fill = async (fresh: LivePod): Promise<void> => {
      if (isPacked) await kept.restore(fresh, id, signal);
      await copy.enter(fresh);
      // From now on the Pod has what is newest.
      await kept.markStale(id);
    };
    return openFilledPod(context, { session: id, shape, onStream, wait, processes, fill }).finally(waits.end);
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
    // A start replaces files of the home, and perhaps the Pod.
    if (isTaken) throw busyError();
    const network = egress.join(access.egress);
    isTaken = true;
    idle.acquire(idler);
    const leave = async (): Promise<void> => {
      isTaken = false;
      await network.close();
      idle.release(idler);
    };
    try {
      const shape = toShape(context, given);
      const live = await pod.open({ signal }, shape);
      const { shownPath } = shape;
      const preparing = prepareFiles(live, command, { copy, filling: fillingOf(live), shownPath, signal });
      try {
        await orAborted(Promise.all([network.guarded, preparing, given.ready]), signal);
      } finally {
        // Files that are still sent would be those of the next start.
        await Promise.allSettled([preparing]);
      }
      const order = toOrder(context, { command, options: given, hasProxy: network.hasProxy });
      // A session that ends meanwhile stops it later, as one that runs.
      const { input, terminal } = given;
      const child = await processes.start(live, { order, input, signal: given.signal });
      wasUsed = true;
      const closing = child.exit.then(leave, leave);
      return {
        ...child,
        ...(terminal === undefined ? {} : { terminal: toTerminal(child) }),
        egress: async () => (await closing, network.take()),
        disk: () => disk.take(live.wire),
      };
    } catch (error) {
      await leave();
      throw signal.aborted && !(error instanceof BudgieError) ? cancelledError() : error;
    }
  }

  async function stop(signal?: AbortSignal): Promise<void> {
    removed.abort(endedError(id));
    idle.forget(idler);
    await orAborted(
      Promise.allSettled(starting).then(() => processes.stop("shutdown")),
      signal,
    );
  }

  async function remove(signal?: AbortSignal): Promise<void> {
    discarded.abort(endedError(id));
    // The end of its Pod is a certain one of what could not be stopped.
    await stop(signal).catch(() => undefined);
    await Promise.all([egress.close(), pod.remove()]);
    await kept.remove(id);
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
    readFile: (path) => use.during(() => files.read(path)),
    appendFile: (path, text) => use.during(() => files.append(path, text)),
    copy: () => usedCopy,
    // A Pod that waits for its first turn is not idle.
    warmUp: () => openPresent().then(() => undefined),
    isLost: pod.isLost,
    hearWaits: waits.hear,
    remove: () => remove(),
    async suspend(signal) {
      if (keepMs === undefined) return remove(signal);
      await stop(signal);
      await egress.close();
      await pod.leave(signal);
    },
  };
}

function endedError(id: SessionId): BudgieError {
  return new BudgieError("SESSION_NOT_FOUND", `The session "${id}" has ended. Leave its id out to begin a new one.`);
}
