import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import { BudgieError } from "@budgie/core";
import type { Clock } from "./clock.ts";
import { createFrameReader } from "./frame-reader.ts";
import { encodeFrame, FRAME_COST, type Frame, type Kind } from "./frame.ts";
import { createOutbox } from "./outbox.ts";
import { wireError } from "./wire-error.ts";

/** Frames in both directions, each once and in order, over a connection that may break and be replaced at any byte. */
export type Link = {
  /** Uses this connection from now on. An earlier one is destroyed */
  readonly attach: (connection: Duplex) => void;
  readonly send: (kind: Kind, stream: number, payload: Buffer) => void;
  /** Tells if data may be sent. If not, {@link LinkEvents.onRoom} is called once it may be */
  readonly hasRoom: () => boolean;
  /** Ends it for good, with a reason unless this end wanted it */
  readonly end: (reason?: BudgieError) => void;
};

/** The events of a link. */
export type LinkEvents = {
  /** Takes a frame of a stream. A `BudgieError` that it throws ends the link */
  readonly onFrame: (frame: Frame) => void;
  readonly onRoom: () => void;
  /** The connection broke, and waits for another one */
  readonly onDetached: () => void;
  readonly onEnd: (reason: BudgieError | undefined) => void;
};

/** The time without a frame after which the other end counts as gone. */
const SILENCE_MS = 120_000;

const HEARTBEAT_MS = 10_000;
const FRAMES_A_TURN = 100;
const ACK_BYTES = 256 * 1024;
const VERSION = 1;
const ID_BYTES = 16;

/** Creates one end of a link, which has no connection yet. */
export function createLink(events: LinkEvents, clock: Clock): Link {
  const outbox = createOutbox();
  const id = randomBytes(ID_BYTES);
  let peer: Buffer | undefined;
  let connection: Duplex | undefined;
  let isGreeted = false;
  let isBlocked = false;
  let isEnded = false;
  let isAckDue = false;
  let expected = 0;
  let unackedBytes = 0;
  let heardAt = clock.now();
  let beatAt = heardAt;

  const stopBeating = clock.every(HEARTBEAT_MS, () => {
    const now = clock.now();
    // A process that was stopped has not read yet what came meanwhile.
    if (now - beatAt >= 2 * HEARTBEAT_MS) heardAt = now;
    beatAt = now;
    if (now - heardAt >= SILENCE_MS) end(silentError());
    isAckDue = true;
    pump();
  });

  function attach(next: Duplex): void {
    connection?.destroy();
    // A connection that breaks later says so here, and nobody else listens.
    next.on("error", () => undefined);
    if (isEnded) return void next.destroy();
    connection = next;
    isGreeted = isBlocked = false;
    const reader = createFrameReader();
    const ifPresent = (task: () => void) => () => (connection === next ? task() : undefined);
    next.on("data", (piece: Buffer) => ifPresent(() => take(next, reader.read(piece)))());
    next.on("drain", ifPresent(resumeSending));
    for (const event of ["end", "error", "close"]) next.on(event, ifPresent(detach));
    // One that broke before tells nothing more.
    if (next.destroyed) process.nextTick(ifPresent(detach));
    const payload = Buffer.concat([Buffer.of(VERSION), id]);
    next.write(encodeFrame({ kind: "hello", stream: 0, sequence: expected, payload }));
  }

  function detach(): void {
    connection?.destroy();
    connection = undefined;
    events.onDetached();
  }

  function take(from: Duplex, frames: Iterator<Frame>): void {
    try {
      for (let left = FRAMES_A_TURN; left > 0; left -= 1) {
        const { done, value: frame } = frames.next();
        if (done === true) break;
        // Others have their turn, however many small frames come at once.
        if (left === 1) takeLater(from, frames);
        heardAt = clock.now();
        handle(frame);
        // A frame may end the link.
        if (connection !== from) return;
      }
    } catch (error) {
      return end(error instanceof BudgieError ? error : wireError("it sent what failed here", { cause: error }));
    }
    pump();
  }

  function takeLater(from: Duplex, frames: Iterator<Frame>): void {
    from.pause();
    setImmediate(() => {
      if (connection !== from) return;
      from.resume();
      take(from, frames);
    });
  }

  function handle(frame: Frame): void {
    if ((frame.kind === "hello") === isGreeted)
      throw wireError('it sent a "hello" that is not its first frame, or none');
    if (frame.kind === "hello") return greet(frame);
    if (frame.kind === "close") return end(closedError());
    if (frame.kind === "ack") {
      outbox.acknowledge(frame.sequence);
      return events.onRoom();
    }
    if (frame.sequence !== expected) throw wireError("it sent frames out of order");
    expected += 1;
    unackedBytes += frame.payload.length + FRAME_COST;
    if (unackedBytes >= ACK_BYTES) isAckDue = true;
    events.onFrame(frame);
  }

  function greet({ payload, sequence }: Frame): void {
    if (payload[0] !== VERSION) throw wireError("it speaks another version");
    peer ??= payload.subarray(1);
    if (!peer.equals(payload.subarray(1))) throw wireError("another program answered in its place");
    isGreeted = true;
    outbox.acknowledge(sequence);
    outbox.rewind();
    events.onRoom();
  }

  /** Sends what waits, as much as the connection takes. */
  function pump(): void {
    while (connection !== undefined && isGreeted && !isBlocked) {
      const bytes = takeAck() ?? outbox.next();
      if (bytes === undefined) return;
      isBlocked = !connection.write(bytes);
    }
  }

  function takeAck(): Buffer | undefined {
    if (!isAckDue) return undefined;
    isAckDue = false;
    unackedBytes = 0;
    return encodeFrame({ kind: "ack", stream: 0, sequence: expected, payload: Buffer.alloc(0) });
  }

  function resumeSending(): void {
    isBlocked = false;
    pump();
  }

  function end(reason?: BudgieError): void {
    if (isEnded) return;
    isEnded = true;
    stopBeating();
    const last = connection;
    connection = undefined;
    if (reason === undefined && last !== undefined && isGreeted && !isBlocked) sayGoodbye(last);
    else last?.destroy();
    events.onEnd(reason);
  }

  return {
    attach,
    send(kind, stream, payload) {
      if (isEnded) return;
      try {
        outbox.add(kind, stream, payload);
      } catch (error) {
        return end(error as BudgieError);
      }
      pump();
    },
    hasRoom: () => !isEnded && outbox.hasRoom(),
    end,
  };
}

function sayGoodbye(connection: Duplex): void {
  connection.once("finish", () => connection.destroy());
  connection.end(encodeFrame({ kind: "close", stream: 0, sequence: 0, payload: Buffer.alloc(0) }));
}

function silentError(): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The Pod did not respond for ${SILENCE_MS / 1_000} seconds. Check the cluster's connection, then begin a new session.`,
  );
}

function closedError(): BudgieError {
  return new BudgieError("RUNNER_UNAVAILABLE", "The other end closed the connection to the Pod. Begin a new session.");
}
