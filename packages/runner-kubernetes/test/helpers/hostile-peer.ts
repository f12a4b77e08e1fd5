import { Duplex } from "node:stream";
import { createWire, type Wire } from "../../src/wire/wire.ts";
import { encodeFrame, type Frame } from "../../src/wire/frame.ts";
import type { WireStream } from "../../src/wire/wire-stream.ts";
import { createFakeClock, type FakeClock } from "./fake-clock.ts";

/** Budgie's end of a wire, with a Pod that says whatever a test wants. */
export type HostilePeer = {
  readonly wire: Wire;
  readonly clock: FakeClock;
  /** The streams that the Pod opened */
  readonly opened: WireStream[];
  readonly say: (bytes: Buffer) => void;
  /** Returns the number of bytes that budgie's end has sent */
  readonly countSent: () => number;
};

/** Creates budgie's end of a wire, and a Pod that has not said anything. */
export function createHostilePeer(): HostilePeer {
  const clock = createFakeClock();
  const opened: WireStream[] = [];
  const wire = createWire({ side: "budgie", onStream: (stream) => opened.push(stream), clock });
  let sent = 0;
  const connection = new Duplex({
    read: () => undefined,
    write(chunk: Buffer, _encoding, done) {
      sent += chunk.length;
      done();
    },
  });
  wire.attach(connection);
  // What a test says is read at once, unless budgie's end has stopped reading.
  const say = (bytes: Buffer): void => {
    if (connection.destroyed) return;
    if (connection.isPaused()) connection.push(bytes);
    else connection.emit("data", bytes);
  };
  return { wire, clock, opened, say, countSent: () => sent };
}

/** Returns the bytes of a frame, of the first stream that a Pod opens by default. */
export function toBytes(kind: Frame["kind"], rest: Partial<Frame> = {}): Buffer {
  return encodeFrame({ kind, stream: 2, sequence: 0, payload: Buffer.alloc(0), ...rest });
}

export const HELLO = toBytes("hello", { stream: 0, payload: Buffer.from([1, ...Buffer.alloc(16, 7)]) });
export const EGRESS = Buffer.from('{"purpose":"egress"}');
