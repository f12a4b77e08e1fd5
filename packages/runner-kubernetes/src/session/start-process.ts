import { PassThrough, type Readable } from "node:stream";
import { BudgieError, type AgentProcess, type Exit, type StopReason } from "@budgie/core";
import { orAborted } from "@budgie/core/bounds";
import type { ProcessOrder } from "../requests/index.ts";
import { parseAgentEnd, type WireStream } from "../wire/index.ts";
import { askPod, awaitAnswer } from "./ask-pod.ts";
import { namePod, type LivePod } from "./live-pod.ts";
import { relayOutput } from "./relay-output.ts";
import { stopProcess, toPodExit } from "./stop-process.ts";

/** A process to start in a Pod, in which no other one runs. */
export type ProcessStart = {
  readonly order: ProcessOrder;
  /** All of its stdin; left out, `stdin` stays open */
  readonly input?: string | undefined;
  /** Resolves to the stream of its stderr, which the Pod opens when it runs */
  readonly stderr: Promise<WireStream>;
  readonly signal?: AbortSignal | undefined;
};

/** A process in a Pod. */
export type PodProcess = Pick<AgentProcess, "exit" | "stderr" | "stdin" | "stdout" | "stop">;

const START_LIMIT_MS = 120_000;
// The time in which the cluster says why a container ended, which it does some moments later.
const REASON_MS = 3_000;

/** Starts a process, and resolves once it runs. If it fails or is cancelled, nothing of it is left. */
export async function startProcess(pod: LivePod, start: ProcessStart): Promise<PodProcess> {
  const { input, order, signal } = start;
  const bytes = Buffer.from(JSON.stringify(order));
  const turn = pod.wire.open({ purpose: "turn", orderBytes: bytes.length });
  turn.output.write(bytes);
  if (input !== undefined) turn.output.end(input);
  let stopped: StopReason | undefined;
  let stopping: Promise<void> | undefined;
  const dropping = new AbortController();
  const ended = awaitAnswer(turn);
  const exit = ended.then(
    async ({ isDiskFull, ...end }): Promise<Exit> => {
      // The exit of a stopped turn is reported once it has certainly ended.
      await stopping;
      return toPodExit(parseAgentEnd(end), { isDiskFull: isDiskFull === true, stopped });
    },
    async (error: unknown) => {
      await stopping;
      return judgeLoss(namePod(pod, await findReason(pod, error)), stopped);
    },
  );
  exit.catch(() => undefined);
  // An agent may end before its stdin does. Only 64 streams can be open.
  void ended.catch(() => undefined).then(() => turn.output.end());

  async function stop(reason: StopReason): Promise<void> {
    stopped ??= reason;
    dropping.abort();
    await (stopping ??= end(reason));
  }

  async function end(reason: StopReason): Promise<void> {
    const ask = (name: "TERM" | "KILL") => askPod(pod.wire, { purpose: "control", ask: "stop", signal: name });
    try {
      await stopProcess({ signal: ask, ended: ended.catch(ignoreCrash) }, reason);
    } catch {
      // A process that cannot be asked ends with its Pod.
      await pod.remove();
    }
  }

  // Output that nobody reads would keep the process from its end.
  const drop = (): void => {
    turn.input.resume();
    void start.stderr.then(({ input: late }) => late.resume());
  };
  const stderr = await awaitStart(start, { ended, stop, drop }).catch((error: unknown) => {
    throw namePod(pod, error);
  });
  const cancel = (): void => void stop("cancelled").catch(() => undefined);
  signal?.addEventListener("abort", cancel, { once: true });
  void exit.catch(() => undefined).then(() => signal?.removeEventListener("abort", cancel));
  if (signal?.aborted === true) cancel();
  return {
    stdin: input === undefined ? turn.output : new PassThrough().end(),
    stdout: relayOutput(turn.input, dropping.signal),
    stderr: relayOutput(stderr, dropping.signal),
    exit,
    stop,
  };
}

type Starting = {
  readonly ended: Promise<unknown>;
  /** Drops its output */
  readonly drop: () => void;
  readonly stop: (reason: StopReason) => Promise<void>;
};

/** Resolves to the stderr of a process that runs. One that cannot be executed has neither, and ends. */
async function awaitStart({ signal, stderr }: ProcessStart, { drop, ended, stop }: Starting): Promise<Readable> {
  const limit = AbortSignal.timeout(START_LIMIT_MS);
  const over = AbortSignal.any([limit, ...(signal === undefined ? [] : [signal])]);
  try {
    const first = await orAborted(Promise.race([stderr, ended.then(() => undefined)]), over);
    return first?.input ?? new PassThrough().end();
  } catch (error) {
    drop();
    if (!over.aborted) throw error;
    await stop("cancelled");
    throw limit.aborted ? lateError() : new BudgieError("CANCELLED", "The turn was cancelled before its agent ran.");
  }
}

/** Resolves to what the cluster says of a Pod's end, if it does in time, or else to the error itself. */
async function findReason({ lost }: LivePod, error: unknown): Promise<unknown> {
  const limit = AbortSignal.timeout(REASON_MS);
  return orAborted(lost, limit).catch(() => error);
}

/** Returns the exit of a process whose Pod ended at a limit, or throws the error. */
function judgeLoss(error: unknown, stopped: StopReason | undefined): Exit {
  const gone = { exitCode: undefined, signal: "SIGKILL" } as const;
  if (stopped !== undefined) return { ...gone, reason: stopped, oomKilled: false };
  const code = error instanceof BudgieError ? error.code : undefined;
  if (code === "OUT_OF_MEMORY") return { ...gone, reason: "out-of-memory", oomKilled: true };
  if (code === "DISK_LIMIT") return { ...gone, reason: "disk-limit", oomKilled: false };
  throw error;
}

/** Counts a container that ended as the end of its processes, which it is. */
function ignoreCrash(error: unknown): void {
  if (!(error instanceof BudgieError && error.code === "AGENT_CRASHED")) throw error;
}

function lateError(): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The Pod did not start the agent within ${START_LIMIT_MS / 1_000} seconds. Check the cluster, or begin a new session.`,
  );
}
