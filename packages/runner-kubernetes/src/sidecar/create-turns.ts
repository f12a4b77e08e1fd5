import { Writable, type Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { BudgieError } from "@budgie/core";
import { orAborted } from "@budgie/core/bounds";
import type { HoldLink, HoldRun } from "../hold/hold-link.ts";
import { busyError } from "../requests/to-pod-error.ts";
import { MOST_ORDER_BYTES, parseOrder } from "../hold/parse-order.ts";
import type { ProcessEnd } from "../requests/process-order.ts";
import type { WireStream } from "../wire/wire-stream.ts";
import { emptyFolder } from "./empty-folder.ts";
import type { HidingPlace } from "./hiding-place.ts";
import type { PodRoots } from "./pod-roots.ts";
import { watchHome } from "./watch-home.ts";

/** The processes of a session, of which one runs at a time. */
export type PodProcesses = {
  /** Runs the process that a stream orders. Rejects with `RUNNER_UNAVAILABLE` while another one runs */
  readonly run: (stream: WireStream, orderBytes: number) => Promise<ProcessEnd>;
  /** Sends a signal to the process, if one runs */
  readonly stop: (signal: "TERM" | "KILL") => void;
  readonly isRunning: () => boolean;
};

/** The means of a turn. */
export type ProcessMeans = {
  readonly roots: Pick<PodRoots, "home" | "scratch">;
  readonly hiding: HidingPlace;
  readonly hold: () => Promise<HoldLink>;
  /** Opens the stream of stderr */
  readonly openStderr: () => WireStream;
  /** Closes the connections of a process that has ended: the next one may have another policy */
  readonly dropConnections: () => void;
};

const ORDER_LIMIT_MS = 60_000;

type Current = { run: HoldRun | undefined; pending: "TERM" | "KILL" | undefined };

/** Creates the turns of a Pod. */
export function createTurns(means: ProcessMeans): PodProcesses {
  let current: Current | undefined;

  async function run(stream: WireStream, orderBytes: number): Promise<ProcessEnd> {
    if (current !== undefined) throw busyError();
    const mine: Current = { run: undefined, pending: undefined };
    current = mine;
    try {
      return await runOne(stream, orderBytes, mine);
    } finally {
      current = undefined;
    }
  }

  async function runOne(stream: WireStream, orderBytes: number, mine: Current): Promise<ProcessEnd> {
    const { input, output } = stream;
    const order = parseOrder(await orAborted(readOrder(input, orderBytes), AbortSignal.timeout(ORDER_LIMIT_MS)));
    const link = await means.hold();
    const stop = (): void => mine.run?.kill("KILL");
    let stderr: WireStream | undefined;
    const openStderr = (): Writable => {
      try {
        stderr = means.openStderr();
        stderr.input.resume();
        return stderr.output;
      } catch {
        // Nothing of a turn may get lost unseen.
        stop();
        return new Writable({ write: (_bytes, _encoding, done) => done() });
      }
    };
    const stdin = input.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    mine.run = link.start(order, { stdin, stdout: output, openStderr });
    // A stream that is reset, or whose wire ended, has nobody for whom it runs.
    output.once("close", stop);
    if (output.destroyed) stop();
    if (mine.pending !== undefined) mine.run.kill(mine.pending);
    let isDiskFull = false;
    const over = new AbortController();
    const onReached = (): void => {
      isDiskFull = true;
      stop();
    };
    const watching = watchHome(means.roots.home, { bytes: order.limits.diskBytes, onReached }, over.signal);
    // Without a measurement the limit could not be kept.
    watching.catch(stop);
    try {
      const end = await mine.run.ended;
      await cleanUp();
      return { ...end, isDiskFull };
    } finally {
      over.abort();
      await watching.catch(() => undefined);
      stderr?.end();
    }
  }

  /** Leaves nothing of a process but what it wrote into the home and the copy. */
  async function cleanUp(): Promise<void> {
    await means.hiding.restore();
    for (const folder of means.roots.scratch) await emptyFolder(folder);
    // Those that the kernel holds are accepted first.
    await setImmediate();
    means.dropConnections();
  }

  return {
    run,
    stop(signal) {
      if (current === undefined) return;
      if (current.run === undefined) current.pending = signal;
      else current.run.kill(signal);
    },
    isRunning: () => current !== undefined,
  };
}

async function readOrder(input: Readable, bytes: number): Promise<Buffer> {
  if (bytes < 1 || bytes > MOST_ORDER_BYTES) throw orderError();
  return (await takeBytes(input, bytes)) ?? Promise.reject(orderError());
}

/** Reads as many bytes, and leaves the others in the stream; `undefined` if it ends before. */
export async function takeBytes(input: Readable, bytes: number): Promise<Buffer | undefined> {
  const taken = Buffer.alloc(bytes);
  let filled = 0;
  for await (const piece of input.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    const copied = piece.copy(taken, filled);
    filled += copied;
    if (copied < piece.length) input.unshift(piece.subarray(copied));
    if (filled === bytes) return taken;
  }
  return undefined;
}

function orderError(): BudgieError {
  return new BudgieError(
    "INPUT_INVALID",
    `The order of a process has no bytes, too many, or ends early. Use the same version of budgie at both ends.`,
  );
}
