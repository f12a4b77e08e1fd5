import { BudgieError, type StopReason } from "@budgie/core";
import { readBounded } from "@budgie/core/protocol";
import type { ProcessOrder } from "../requests/index.ts";
import type { WireStream } from "../wire/index.ts";
import type { LivePod } from "./live-pod.ts";
import { startProcess, type PodProcess, type ProcessStart } from "./start-process.ts";

/** The processes of a session, of which one runs at a time. */
export type PodProcesses = {
  /** Starts a process. Rejects with `INPUT_INVALID` while another one runs */
  readonly start: (pod: LivePod, start: Omit<ProcessStart, "stderr">) => Promise<PodProcess>;
  /** Runs a process without input, and resolves to its stdout without the middle of a long one, however it ends */
  readonly print: (pod: LivePod, order: ProcessOrder, printing?: Printing) => Promise<string>;
  /** Takes the stream of the process's stderr, and resets any other one */
  readonly takeStderr: (stream: WireStream) => void;
  readonly isRunning: () => boolean;
  /** Stops the process that runs, and waits for one that is just starting */
  readonly stop: (reason: StopReason) => Promise<void>;
};

/** The limits of a process that prints. */
type Printing = {
  /** Time after which it is stopped; default a minute */
  readonly limitMs?: number;
  /** Stops it for its reason */
  readonly signal?: AbortSignal;
};

const PRINT_MS = 60_000;
const HELD_BYTES = 128 * 1024;

/** Creates the processes of a session. */
export function createPodProcesses(): PodProcesses {
  let giveStderr: ((stream: WireStream) => void) | undefined;
  let current: Promise<PodProcess> | undefined;

  async function start(pod: LivePod, order: Omit<ProcessStart, "stderr">): Promise<PodProcess> {
    if (current !== undefined) throw busyError();
    const stderr = new Promise<WireStream>((resolve) => (giveStderr = resolve));
    const starting = (current = startProcess(pod, { ...order, stderr }));
    const forget = (): void => void (current = undefined);
    starting.then(({ exit }) => exit.then(forget, forget), forget);
    return starting;
  }

  async function print(pod: LivePod, order: ProcessOrder, printing: Printing = {}): Promise<string> {
    const { limitMs = PRINT_MS, signal: given } = printing;
    const limit = AbortSignal.timeout(limitMs);
    const signal = given === undefined ? limit : AbortSignal.any([limit, given]);
    const child = await start(pod, { order, input: "", signal }).catch((error: unknown) => {
      given?.throwIfAborted();
      throw limit.aborted ? lateError(limitMs) : error;
    });
    child.stderr.resume();
    const [{ text }, { reason }] = await Promise.all([
      readBounded(child.stdout, { heldBytes: HELD_BYTES }),
      child.exit,
    ]);
    given?.throwIfAborted();
    if (reason === "cancelled") throw lateError(limitMs);
    return text;
  }

  return {
    start,
    print,
    takeStderr(stream) {
      const give = giveStderr;
      giveStderr = undefined;
      // A stream that only one end has ended stays open, of which there are 64 at most.
      stream.end();
      if (give !== undefined) return give(stream);
      stream.input.destroy();
      stream.output.destroy();
    },
    isRunning: () => current !== undefined,
    async stop(reason) {
      const child = await current?.catch(() => undefined);
      await child?.stop(reason);
    },
  };
}

function lateError(limitMs: number): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `A program in the Pod did not end within ${limitMs / 1_000} seconds. Check the cluster, and try again.`,
  );
}

/** Returns the error of a second process. */
export function busyError(): BudgieError {
  return new BudgieError("INPUT_INVALID", "A process of the session runs in its Pod. Wait until it has ended.");
}
