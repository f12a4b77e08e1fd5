import { Readable, Writable } from "node:stream";
import { BudgieError } from "@budgie/core";
import { FRAME_COST, KINDS, type Frame, type Kind } from "./frame.ts";
import { parseObject, toPayload, type Opening } from "./opening.ts";
import { wireError } from "./wire-error.ts";

/**
 * One of the streams of a wire. Destroying its input or output before their ends resets it at both ends of the wire. Input that had ended
 * before can still be read.
 */
export type WireStream = {
  readonly opening: Opening;
  readonly input: Readable;
  readonly output: Writable;
  /** Ends the output, with a last value. The input may go on */
  readonly end: (last?: Readonly<Record<string, unknown>>) => void;
  /** The last value of the other end, once all its bytes have arrived, empty if it gave none. Rejects if the stream is reset, or the wire ends */
  readonly last: Promise<Readonly<Record<string, unknown>>>;
};

/** The most that a sender may be ahead of the reader of its stream. Each frame counts {@link FRAME_COST} besides its payload. */
export const WINDOW_BYTES = 1024 * 1024;

/** The sending side of the wire, as a stream needs it. */
export type Outlet = {
  readonly send: (kind: Kind, payload: Buffer) => void;
  readonly hasRoom: () => boolean;
  /** Calls back once there may be room again */
  readonly whenRoom: (task: () => void) => void;
  /** Forgets the stream: both ends have ended or reset it */
  readonly release: () => void;
};

/** The wire's own side of a stream. */
export type StreamPort = {
  readonly stream: WireStream;
  /** Takes a frame of the other end. Throws if it breaks the rules */
  readonly take: (frame: Frame) => void;
  /** Fails the stream, since the wire ended */
  readonly fail: (reason: BudgieError) => void;
};

const NOTHING = Buffer.alloc(0);

/** Creates one end of a stream that both ends know of. */
export function createWireStream(opening: Opening, outlet: Outlet): StreamPort {
  let credit = WINDOW_BYTES;
  let unsent: { readonly bytes: Buffer; readonly done: () => void } | undefined;
  let lastValue: Buffer = NOTHING;
  let uncreditedBytes = 0;
  let consumedBytes = 0;
  let isWanted = false;
  let isReset = false;
  let hasSentLast = false;
  let hasGotLast = false;
  const arrived: (Buffer | null)[] = [];
  const { promise: last, reject, resolve } = toDeferred<Readonly<Record<string, unknown>>>();

  const input = new Readable({
    read() {
      isWanted = true;
      deliver();
    },
    destroy(error, done) {
      arrived.length = 0;
      reject(error ?? resetError());
      if (!hasGotLast) reset(error);
      done(error);
    },
  });
  const output = new Writable({
    write(bytes: Buffer, _encoding, done) {
      // No frame of data is empty.
      if (bytes.length === 0) return done();
      unsent = { bytes, done };
      sendData();
    },
    final(done) {
      sendLast("end", lastValue);
      done();
    },
    destroy(error, done) {
      unsent = undefined;
      if (!hasSentLast) reset(error);
      done(error);
    },
  });
  // The other end may reset a stream before anyone listens.
  for (const half of [input, output]) half.on("error", () => undefined);

  function reset(error: Error | null): void {
    if (isReset) return;
    isReset = true;
    sendLast("reset", NOTHING);
    // Input that ended before is whole, and may be read.
    if (!hasGotLast) input.destroy(error ?? resetError());
    output.destroy(error ?? resetError());
  }

  /** Sends what a writer gave, as far as window and wire allow. */
  function sendData(): void {
    while (unsent !== undefined && outlet.hasRoom() && credit > FRAME_COST) {
      const { bytes: left, done } = unsent;
      const payload = left.subarray(0, Math.min(KINDS.data.most, credit - FRAME_COST));
      credit -= payload.length + FRAME_COST;
      unsent = payload.length < left.length ? { bytes: left.subarray(payload.length), done } : undefined;
      outlet.send("data", payload);
      if (unsent === undefined) done();
    }
    if (unsent !== undefined && !outlet.hasRoom()) outlet.whenRoom(sendData);
  }

  function sendLast(kind: "end" | "reset", payload: Buffer): void {
    hasSentLast = true;
    outlet.send(kind, payload);
    if (hasGotLast) outlet.release();
  }

  /** Gives the reader one payload at a time, and the other end credit for those that it took. */
  function deliver(): void {
    while (isWanted && arrived.length > 0) {
      const payload = arrived.shift() ?? null;
      isWanted = false;
      // Its reader may ask for more before this returns.
      if (input.push(payload)) isWanted = true;
      if (payload !== null) consumedBytes += payload.length + FRAME_COST;
    }
    if (consumedBytes < WINDOW_BYTES / 4 || hasGotLast) return;
    const payload = Buffer.alloc(KINDS.credit.most);
    payload.writeUInt32BE(consumedBytes);
    uncreditedBytes -= consumedBytes;
    consumedBytes = 0;
    outlet.send("credit", payload);
  }

  function takeCredit(amount: number): void {
    credit += amount;
    if (amount === 0 || credit > WINDOW_BYTES) throw wireError("it widened the window of a stream");
    sendData();
  }

  function takeData(payload: Buffer): void {
    uncreditedBytes += payload.length + FRAME_COST;
    if (uncreditedBytes > WINDOW_BYTES) throw wireError("it sent more than the window of a stream");
    if (isReset) return;
    arrived.push(payload);
    deliver();
  }

  function takeEnd(payload: Buffer): void {
    const value = payload.length > 0 ? parseObject(payload) : {};
    hasGotLast = true;
    resolve(value);
    if (!isReset) arrived.push(null);
    deliver();
    if (hasSentLast) outlet.release();
  }

  function takeReset(): void {
    const error = resetError();
    if (!hasGotLast) {
      hasGotLast = true;
      input.destroy(error);
    }
    if (hasSentLast) outlet.release();
    output.destroy(hasSentLast ? undefined : error);
  }

  return {
    stream: {
      opening,
      input,
      output,
      end(value) {
        if (value !== undefined) lastValue = toPayload("end", value);
        output.end();
      },
      last,
    },
    take({ kind, payload }) {
      if (kind === "reset") return takeReset();
      if (kind === "credit") return takeCredit(payload.readUInt32BE());
      if (hasGotLast) throw wireError("it sent more after the end of a stream");
      if (kind === "data") takeData(payload);
      else takeEnd(payload);
    },
    fail(reason) {
      if (!hasGotLast) input.destroy(reason);
      if (!hasSentLast) output.destroy(reason);
    },
  };
}

function toDeferred<T>() {
  let resolve: (value: T) => void = () => undefined;
  let reject: (reason: Error) => void = () => undefined;
  const promise = new Promise<T>((...settle) => ([resolve, reject] = settle));
  // A caller need not ask for the last value.
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}

function resetError(): BudgieError {
  return new BudgieError("RUNNER_UNAVAILABLE", "A stream of the connection to the Pod was reset. Try again.");
}
