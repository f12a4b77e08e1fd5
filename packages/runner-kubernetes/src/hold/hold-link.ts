import { once } from "node:events";
import { constants } from "node:os";
import type { Duplex, Writable } from "node:stream";
import { BudgieError } from "@budgie/core";
import type { ProcessOrder } from "../requests/process-order.ts";
import { busyError } from "../requests/to-pod-error.ts";
import { encodeHoldFrame, holdError, MOST_PIECE_BYTES, readHoldFrames, toNumbers, toStart } from "./hold-frame.ts";

/** Facts that `hold` tells of the machine, in its first message. */
type HoldHello = { readonly landlock: number; readonly ports: readonly [first: number, last: number] };

/** The end of a process. */
type HoldEnd = { readonly exitCode: number | null; readonly signal: string | null; readonly oomKills: number };

/** The streams of a process. Output is read only while they have room. */
type HoldStreams = {
  readonly stdin: AsyncIterable<Buffer>;
  readonly stdout: Writable;
  /** Returns the stream of its stderr. It is called once it runs */
  readonly openStderr: () => Writable;
};

/** A process that runs, or is about to. */
export type HoldRun = {
  /** Rejects with `AGENT_CRASHED` if the container ended before it */
  readonly ended: Promise<HoldEnd>;
  /** Sends a signal to all its processes. Output that nobody reads is discarded from then on */
  readonly kill: (signal: "TERM" | "KILL") => void;
};

/** The sidecar's end of the socket of `hold`. */
export type HoldLink = {
  /** Rejects if the socket ends before */
  readonly hello: Promise<HoldHello>;
  /** Starts a process. Throws while another one runs */
  readonly start: (order: ProcessOrder, streams: HoldStreams) => HoldRun;
  readonly isOpen: () => boolean;
  /** Closes the socket, which ends the container and all in it */
  readonly close: () => void;
  readonly ended: Promise<void>;
};

const AHEAD_BYTES = 256 * 1024;
// The time in which a reader has to take something after a stop.
const STALL_MS = 2_000;
// The kernel ends processes at once, and `hold` looks again and again.
const KILL_LIMIT_MS = 30_000;

type Current = {
  readonly streams: HoldStreams;
  readonly resolve: (end: HoldEnd) => void;
  readonly reject: (reason: Error) => void;
  stderr: Writable | undefined;
  /** The bytes of stdin that were sent and not taken */
  ahead: number;
  isStopped: boolean;
  isDiscarding: boolean;
  isOver: boolean;
  readonly wake: Set<() => void>;
};

/** Creates the end, and reads what `hold` says. */
export function createHoldLink(socket: Duplex): HoldLink {
  let current: Current | undefined;
  let isEnded = false;
  let resolveHello: (hello: HoldHello) => void = () => undefined;
  let rejectHello: (reason: Error) => void = () => undefined;
  const hello = new Promise<HoldHello>((...settle) => ([resolveHello, rejectHello] = settle));
  hello.catch(() => undefined);
  socket.on("error", () => undefined);
  const ended = readAll().then(fail, fail);

  async function readAll(): Promise<undefined> {
    let isGreeted = false;
    for await (const { kind, payload } of readHoldFrames(socket as AsyncIterable<Buffer>)) {
      if ((kind === "H") === isGreeted) throw holdError("its first message is not its hello, or comes twice");
      if (kind === "H") {
        isGreeted = true;
        resolveHello(parseHello(payload));
      } else await take(kind, payload);
    }
  }

  function fail(reason: unknown): void {
    isEnded = true;
    socket.destroy();
    rejectHello(unusableError());
    const over = current;
    settle(over);
    over?.reject(reason instanceof BudgieError ? reason : crashedError());
  }

  async function take(kind: string, payload: Buffer): Promise<void> {
    if (current === undefined) throw holdError("it spoke of a process that does not run");
    if (kind === "E") return takeEnd(current, payload);
    if (kind === "U") return takeCredit(current, payload.readUInt32LE());
    if (kind === "P") return takeStart(current);
    if (current.stderr === undefined) throw holdError("it sent output of a process that does not run");
    await writeTo(kind === "O" ? current.streams.stdout : current.stderr, payload, current);
  }

  function takeStart(run: Current): void {
    if (run.stderr !== undefined) throw holdError("it started a process twice");
    run.stderr = run.streams.openStderr();
    void pump(run).catch(() => undefined);
  }

  function takeEnd(run: Current, payload: Buffer): void {
    const end = parseEnd(payload);
    settle(run);
    run.resolve(end);
  }

  /** Ends what belongs to a process that is over. */
  function settle(run: Current | undefined): void {
    if (run === undefined) return;
    run.isOver = true;
    if (current === run) current = undefined;
    wakeAll(run);
  }

  /** Sends stdin, as far as `hold` has taken what came before. It is read to its end, since what ends early resets a stream. */
  async function pump(run: Current): Promise<void> {
    for await (const piece of run.streams.stdin) {
      for (let at = 0; at < piece.length && !run.isOver;) {
        const part = piece.subarray(at, at + Math.min(MOST_PIECE_BYTES, AHEAD_BYTES - run.ahead));
        at += part.length;
        run.ahead += part.length;
        if (part.length > 0) socket.write(encodeHoldFrame("I", part));
        else await new Promise<void>((resolve) => run.wake.add(resolve));
      }
    }
    if (!run.isOver) socket.write(encodeHoldFrame("I", Buffer.alloc(0)));
  }

  return {
    hello,
    ended,
    isOpen: () => !isEnded,
    close: () => void socket.destroy(),
    start(order, streams) {
      if (isEnded) throw unusableError();
      if (current !== undefined) throw busyError();
      const bytes = toStart(order);
      let run: Current | undefined;
      const done = new Promise<HoldEnd>((resolve, reject) => {
        run = { streams, resolve, reject, stderr: undefined, ahead: 0, ...FRESH, wake: new Set() };
      });
      current = run;
      socket.write(bytes);
      return { ended: done, kill: (signal) => kill(run, signal) };
    },
  };

  function kill(run: Current | undefined, signal: "TERM" | "KILL"): void {
    if (run === undefined || run.isOver || isEnded) return;
    run.isStopped = true;
    wakeAll(run);
    socket.write(encodeHoldFrame("K", toNumbers([constants.signals[`SIG${signal}`]])));
    if (signal !== "KILL") return;
    setTimeout(() => (run.isOver ? undefined : socket.destroy()), KILL_LIMIT_MS).unref();
  }
}

const FRESH = { isStopped: false, isDiscarding: false, isOver: false };

function takeCredit(run: Current, bytes: number): void {
  if (bytes > run.ahead) throw holdError("it took more than it was sent");
  run.ahead -= bytes;
  wakeAll(run);
}

/** Lets all that waits for something of a process look again. */
function wakeAll(run: Current): void {
  const tasks = [...run.wake];
  run.wake.clear();
  for (const task of tasks) task();
}

/** Writes output once there is room for it. */
async function writeTo(target: Writable, payload: Buffer, run: Current): Promise<void> {
  if (run.isDiscarding || !isWritable(target) || target.write(payload)) return;
  while (isWritable(target) && target.writableNeedDrain) {
    const isTaken = await waitForRoom(target, run);
    if (isTaken || !run.isStopped) continue;
    run.isDiscarding = true;
    return;
  }
}

/** Waits until a stream takes more. Resolves to false if it did not for a while after a stop. */
async function waitForRoom(target: Writable, run: Current): Promise<boolean> {
  const over = new AbortController();
  const { signal } = over;
  const isStalled = run.isStopped;
  const stopped = new Promise<false>((resolve) => {
    const wake = (): void => resolve(false);
    if (isStalled) setTimeout(wake, STALL_MS).unref();
    else run.wake.add(wake);
    signal.addEventListener("abort", () => run.wake.delete(wake));
  });
  const taken = Promise.race([once(target, "drain", { signal }), once(target, "close", { signal })]);
  try {
    const isTaken = await Promise.race([taken.then(() => true), stopped]);
    // A stop that came while it waited gives the reader its time first.
    return isTaken || !isStalled;
  } catch {
    return true;
  } finally {
    over.abort();
  }
}

function isWritable(target: Writable): boolean {
  return !target.destroyed && !target.writableEnded;
}

function parseHello(payload: Buffer): HoldHello {
  const [landlock, first, last] = [0, 4, 8].map((at) => payload.readUInt32LE(at)) as [number, number, number];
  if (first > last || last > 65_535) throw holdError("its ephemeral ports are none");
  return { landlock, ports: [first, last] };
}

function parseEnd(payload: Buffer): HoldEnd {
  const [code, signal, oomKills] = [payload.readInt32LE(0), payload.readInt32LE(4), payload.readUInt32LE(8)];
  if (code >= 0 && code <= 255 && signal === 0) return { exitCode: code, signal: null, oomKills };
  if (code !== -1 || signal < 1 || signal > 64) throw holdError("it ended a process without saying how");
  const name = Object.entries(constants.signals).find(([, number]) => number === signal)?.[0];
  // Real-time signals have no names.
  return name === undefined
    ? { exitCode: 128 + signal, signal: null, oomKills }
    : { exitCode: null, signal: name, oomKills };
}

/** Returns the error of a Pod whose agent's container has ended. */
export function unusableError(): BudgieError {
  return new BudgieError("SESSION_UNUSABLE", "The agent's container of the Pod has ended. Begin a new session.");
}

function crashedError(): BudgieError {
  return new BudgieError(
    "AGENT_CRASHED",
    "The agent's container ended before the agent did, such as for lack of memory. Ask again.",
  );
}
