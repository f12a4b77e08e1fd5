import { removeContainer } from "../engine/remove-container.ts";
import { setTimeout as sleep } from "node:timers/promises";
import type Docker from "dockerode";
import { BudgieError, type AgentProcess, type DiskReport, type Exit, type StopReason } from "@budgie/core";
import { createOutput, awaitExitMarker, type Output, toExit } from "@budgie/sandbox/init";
import { type ContainerRoot, watchDisk } from "@budgie/sandbox/proc";
import { demultiplex } from "../engine/demultiplex.ts";
import { ignoreMissing, statusOf } from "../engine/to-budgie-error.ts";
import { API_LIMIT_MS, ENDING_LIMIT_MS, withTimeout, timeLimit } from "../engine/with-timeout.ts";
import { unverifiedError, type PendingRemovals } from "../engine/pending-removals.ts";
import type { Sandbox } from "./launch-sandbox.ts";
import { openTerminal } from "./open-terminal.ts";

/** The process in a sandbox. */
export type SandboxProcess = AgentProcess & {
  /** Resolves once the container's removal is confirmed, even if the engine is unavailable for long; never rejects */
  readonly gone: Promise<void>;
  /** Begins the removal at once that otherwise waits for a while. */
  readonly hurry: () => void;
  /** Resolves once nothing in the sandbox runs any more, which can be before its removal; never rejects */
  readonly still: Promise<void>;
  /** Resolves once the agent may begin, since its disks are watched; never rejects */
  readonly ready: Promise<unknown>;
  /** The key of its sandbox */
  readonly key: string;
  readonly disk: NonNullable<AgentProcess["disk"]>;
  /** The disk use, once the process has ended; never rejects */
  readonly lastDisk: Promise<DiskReport | undefined>;
};

type Reason = StopReason | "disk-limit";

// The grace periods of a stop. A shutdown's is short: the MCP SDK's client kills a server 4 s after the end of its stdin.
const GRACE_S: Readonly<Record<Reason, number>> = { timeout: 5, cancelled: 5, shutdown: 2, "disk-limit": 1 };
// The pause between two inspections while the output is open.
const RUNNING_MS = 5000;
// The time for an engine's restart, before the turn is given up.
const ENGINE_LOSS_MS = 60_000;

type ProcessOptions = {
  readonly pendingRemovals: PendingRemovals;
  /** The token before its exit marker */
  readonly token: string;
  /** Limit of the session's home */
  readonly diskBytes: number;
  /** Limit of its cache; default: it has none */
  readonly cacheBytes?: number | undefined;
  /** Size of the home before; `undefined` if unknown */
  readonly heldBytes: number | undefined;
  /** Returns the time between the kernel's word that nothing runs any more and the container's removal, unless somebody waits for that */
  readonly restMs: () => number;
};

/** Creates the process of a sandbox. Removes the container once it has ended. */
export function createSandboxProcess(
  {
    container,
    key,
    root,
    socket,
    workspacePath,
  }: Pick<Sandbox, "container" | "key" | "root" | "socket" | "workspacePath">,
  { cacheBytes, diskBytes, heldBytes, pendingRemovals, restMs, token }: ProcessOptions,
): SandboxProcess {
  const outputs = [createOutput(token), createOutput(token)] as const;
  const [{ stream: stdout }, { stream: stderr }] = outputs;
  let stopped: Reason | undefined;
  let stopping: Promise<void> | undefined;
  let isOver = false;
  const dropping = new AbortController();
  const closed = demultiplex(socket, { stdout, stderr, dropping: dropping.signal });

  const givingUp = new AbortController();
  const hurrying = new AbortController();
  const hurry = (): void => hurrying.abort();
  const closedAndRested = closed.then(() => {
    // Only the engine knows of the end without an exit marker.
    const isMarked = root !== undefined && !outputs.some((output) => output.isCutOff());
    return isMarked ? rest(restMs(), hurrying.signal) : undefined;
  });
  const endedOnEngine = inspectEnd(container, closedAndRested, givingUp.signal);
  const seen = awaitEnd(outputs, root).then((end) => {
    if (end !== undefined) return end;
    hurry();
    return endedOnEngine;
  });
  const ended = Promise.race([seen, endedOnEngine]);
  const exit = ended.then(async (end): Promise<Exit> => {
    // The exit of a stopped turn is reported once its container is removed.
    await stopping;
    const { exitCode, oomKilled } = end;
    if (stopped === undefined && exitCode === 0 && outputs[0].isCutOff()) throw cutOffError();
    return toExit({ exitCode, oomKilled, stopped });
  });
  exit.catch(() => undefined);
  // Not before the engine reports the end: it would kill a container that it believes to be running.
  const removal = settled(endedOnEngine).then(() => pendingRemovals.remove(() => removeContainer(container)));
  const removed = removal.then(({ firstAttempt }) => firstAttempt);
  const gone = removal.then((begun) => begun.gone);
  removed.catch(() => undefined);
  const still = ended.then(
    ({ isStill }) => (isStill ? undefined : gone),
    () => gone,
  );
  const setOver = (): void => void (isOver = true);
  ended.then(setOver, setOver);
  void gone.then(() => root?.[Symbol.asyncDispose]());

  const diskWatch = watchDisk(root, {
    workspacePath,
    bytes: diskBytes,
    cacheBytes,
    heldBytes,
    onReached: () => void stop("disk-limit").catch(() => undefined),
  });
  const lastDisk = exit.then(diskWatch.end, diskWatch.end).catch(() => undefined);

  async function end(reason: Reason): Promise<void> {
    // A second stop must not wait again for an engine that was given up.
    givingUp.signal.throwIfAborted();
    if (!isOver) await endContainer(container, GRACE_S[reason]);
    await withTimeout(removed, ENDING_LIMIT_MS);
  }

  async function endOrGiveUp(reason: Reason): Promise<void> {
    try {
      await end(reason);
    } catch (error) {
      pendingRemovals.suspect(error);
      // An engine that does not answer must not hang the turn.
      givingUp.abort(unverifiedError(error));
      throw givingUp.signal.reason;
    } finally {
      // Unread output would keep the connection open forever.
      socket.destroy();
    }
  }

  async function stop(reason: Reason): Promise<void> {
    stopped ??= reason;
    hurry();
    dropping.abort();
    await (stopping = endOrGiveUp(reason));
  }

  return {
    stdin: socket,
    stdout,
    stderr,
    exit,
    gone,
    hurry,
    still,
    ready: diskWatch.ready,
    key,
    disk: () => (isOver ? lastDisk : diskWatch.take()),
    openTerminal: (argv, size) => openTerminal(container, argv, size),
    lastDisk,
    stop,
  };
}

/** Creates the error of a turn that ended well, but not all of whose output came: Docker drops what it did not pass on within 2 s of the end. */
function cutOffError(): BudgieError {
  return new BudgieError(
    "AGENT_CRASHED",
    "The engine cut off the agent's output, so its answer is incomplete. Ask again.",
  );
}

type End = {
  readonly exitCode: number;
  readonly oomKilled: boolean;
  /** True if the kernel says that the first process is gone, without which nothing in the sandbox can run */
  readonly isStill: boolean;
};

/** Waits for a time, or until `signal` aborts. Does not keep the process alive. */
async function rest(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, undefined, { ref: false, signal }).catch(() => undefined);
}

/** Returns the turn's end from its exit marker; `undefined` if only the engine knows it. */
async function awaitEnd(outputs: readonly Output[], root: ContainerRoot | undefined): Promise<End | undefined> {
  const marker = root && (await awaitExitMarker(outputs, root));
  if (marker === undefined) return undefined;
  for (const output of outputs) output.end();
  // The kernel counts a kill at once; a loaded engine may notice it only after the end.
  return { exitCode: marker.exitCode, oomKilled: marker.oomKills !== 0, isStill: true };
}

/**
 * Returns how a container ended. Inspects it until it is not running: often once its output has ended, and seldom before, since unread
 * output hides its end. A "wait" hangs forever if the engine dies, and takes more than a processor of Podman before 4.6
 * (https://github.com/containers/podman/issues/18150).
 */
async function inspectEnd(container: Docker.Container, closed: Promise<void>, giveUp: AbortSignal): Promise<End> {
  let closedMs: number | undefined;
  void closed.then(() => (closedMs = performance.now()));
  let delayMs = 10;
  for (;;) {
    await Promise.race([closed, sleep(RUNNING_MS, undefined, { ref: false })]);
    giveUp.throwIfAborted();
    const abortSignal = AbortSignal.any([giveUp, AbortSignal.timeout(API_LIMIT_MS)]);
    const state = await container.inspect({ abortSignal }).then(
      (facts) => facts.State,
      (error: unknown) => {
        if (statusOf(error) !== 404) return undefined;
        throw new BudgieError("AGENT_CRASHED", "The agent's container was removed by somebody else. Ask again.", {
          cause: error,
        });
      },
    );
    // A container that Podman is stopping is reported as not running, with exit code 0.
    const hasEnded = state?.Running === false && state.Status !== "stopping";
    if (hasEnded) return { exitCode: state.ExitCode, oomKilled: state.OOMKilled, isStill: false };
    if (closedMs === undefined) continue;
    if (state === undefined && performance.now() - closedMs > ENGINE_LOSS_MS) {
      throw new BudgieError("RUNNER_UNAVAILABLE", "The engine went away during the turn. Start it again.");
    }
    await sleep(delayMs);
    delayMs = Math.min(2 * delayMs, 250);
  }
}

/** Stops a container, and kills it after the grace period. Ignores a container that has ended or is missing. */
async function endContainer(container: Docker.Container, graceS: number): Promise<void> {
  const limit = timeLimit(graceS * 1000 + ENDING_LIMIT_MS);
  try {
    await container.stop({ t: graceS, ...limit });
  } catch (error) {
    const status = statusOf(error);
    if (status === 304 || status === 404) return;
    // An engine that did not answer one call would not answer the next.
    if (status === undefined) throw error;
    await container.kill(limit).catch((refusal: unknown) => {
      // 409: it is not running.
      if (statusOf(refusal) !== 409) ignoreMissing(refusal);
    });
  }
}

function settled(promise: Promise<unknown>): Promise<void> {
  return promise.then(
    () => undefined,
    () => undefined,
  );
}
