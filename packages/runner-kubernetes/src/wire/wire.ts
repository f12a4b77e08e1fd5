import type { Duplex } from "node:stream";
import { BudgieError } from "@budgie/core";
import { CLOCK, type Clock } from "./clock.ts";
import type { Frame } from "./frame.ts";
import { createLink } from "./link.ts";
import { parseOpening, toPayload, type Opening, type Side } from "./opening.ts";
import { wireError } from "./wire-error.ts";
import { createWireStream, type Outlet, type StreamPort, type WireStream } from "./wire-stream.ts";

/** One end of the wire between budgie and a Pod: many streams over one connection, which may break and be replaced. */
export type Wire = {
  /** Uses this connection from now on, in place of an earlier one. What the other end did not get is sent again */
  readonly attach: (connection: Duplex) => void;
  /** Opens a stream. Throws if too many are open, or the wire has ended */
  readonly open: (opening: Opening) => WireStream;
  /** Ends the wire and resets its streams, for a reason unless that is wanted */
  readonly close: (reason?: BudgieError) => void;
  /** Resolves at its end, to the reason unless `close` was called without one */
  readonly ended: Promise<BudgieError | undefined>;
};

/** The settings of an end. */
export type WireOptions = {
  readonly side: Side;
  /** Takes a stream that the other end opened */
  readonly onStream: (stream: WireStream) => void;
  /** Hears that the connection broke, and may attach another one */
  readonly onDetached?: () => void;
  readonly clock?: Clock;
};

/** The most streams that either end may have open, each with up to a window of unread bytes. */
export const MOST_STREAMS = 64;

/** Creates one end of a wire, which has no connection yet. */
export function createWire(options: WireOptions): Wire {
  const { clock = CLOCK, onDetached = () => undefined, onStream, side } = options;
  const own = createNumbers(side);
  const theirs = createNumbers(side === "budgie" ? "pod" : "budgie");
  const ports = new Map<number, StreamPort>();
  const waiting = new Set<() => void>();
  let reason: BudgieError | undefined;
  let settle: (reason: BudgieError | undefined) => void;
  const ended = new Promise<BudgieError | undefined>((resolve) => (settle = resolve));
  const link = createLink({ onFrame, onRoom, onDetached, onEnd }, clock);

  function onFrame(frame: Frame): void {
    if (frame.kind === "open") return takeOpening(frame);
    const port = ports.get(frame.stream);
    if (port !== undefined) return port.take(frame);
    // A stream ends while these are on their way.
    const isLate = frame.kind === "credit" || frame.kind === "reset";
    if (!isLate || !(own.has(frame.stream) || theirs.has(frame.stream))) throw wireError("it named no open stream");
  }

  function takeOpening({ payload, stream: number }: Frame): void {
    if (number !== theirs.next()) throw wireError("it opened a stream out of order");
    if (count(theirs) >= MOST_STREAMS) throw wireError(`it opened more than ${MOST_STREAMS} streams`);
    theirs.take();
    onStream(add(number, parseOpening(side === "budgie" ? "pod" : "budgie", payload)));
  }

  function add(number: number, opening: Opening): WireStream {
    const outlet: Outlet = {
      send: (kind, payload) => link.send(kind, number, payload),
      hasRoom: link.hasRoom,
      whenRoom: (task) => void waiting.add(task),
      release: () => ports.delete(number),
    };
    const port = createWireStream(opening, outlet);
    ports.set(number, port);
    return port.stream;
  }

  /** Lets the streams that wait send, those that waited longest first. */
  function onRoom(): void {
    const tasks = [...waiting];
    waiting.clear();
    for (const task of tasks) task();
  }

  function onEnd(why: BudgieError | undefined): void {
    reason = why ?? endedError();
    for (const port of ports.values()) port.fail(reason);
    ports.clear();
    waiting.clear();
    settle(why);
  }

  function count(numbers: Numbers): number {
    return [...ports.keys()].filter(numbers.has).length;
  }

  return {
    attach: link.attach,
    open(opening) {
      if (reason !== undefined) throw reason;
      if (count(own) >= MOST_STREAMS) throw tooManyError();
      const payload = toPayload("open", opening);
      const number = own.take();
      const stream = add(number, opening);
      link.send("open", number, payload);
      return stream;
    },
    close: link.end,
    ended,
  };
}

type Numbers = ReturnType<typeof createNumbers>;

/** Counts the streams that one end opens: budgie's have odd numbers. */
function createNumbers(side: Side) {
  let next = side === "budgie" ? 1 : 2;
  return {
    next: () => next,
    take: () => (next += 2) - 2,
    /** Tells if a number was that of a stream of this end */
    has: (number: number) => number > 0 && number < next && number % 2 === next % 2,
  };
}

function tooManyError(): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The Pod has ${MOST_STREAMS} streams open. Try again when one has ended.`,
  );
}

function endedError(): BudgieError {
  return new BudgieError("RUNNER_UNAVAILABLE", "The connection to the Pod was closed. Begin a new session.");
}
