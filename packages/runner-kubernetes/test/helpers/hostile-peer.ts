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
};

/** Creates budgie's end of a wire, which does something with each new stream, and a Pod that has not said anything. */
export function createHostilePeer(onStream: (stream: WireStream) => void = () => undefined): HostilePeer {
  const clock = createFakeClock();
  const opened: WireStream[] = [];
  const take = (stream: WireStream): void => {
    opened.push(stream);
    onStream(stream);
  };
  const wire = createWire({ side: "budgie", onStream: take, clock });
  const connection = new Duplex({
    read: () => undefined,
    write: (_chunk, _encoding, done) => done(),
  });
  wire.attach(connection);
  // A test's words are read at once, unless budgie's end has stopped reading.
  const say = (bytes: Buffer): void => {
    if (connection.destroyed) return;
    if (connection.isPaused()) connection.push(bytes);
    else connection.emit("data", bytes);
  };
  return { wire, clock, opened, say };
}

/** Returns the bytes of a frame, of the first stream that a Pod opens by default. */
export function toBytes(kind: Frame["kind"], rest: Partial<Frame> = {}): Buffer {
  return encodeFrame({ kind, stream: 2, sequence: 0, payload: Buffer.alloc(0), ...rest });
}

export const HELLO = toBytes("hello", { stream: 0, payload: Buffer.from([1, ...Buffer.alloc(16, 7)]) });
export const EGRESS = Buffer.from('{"purpose":"egress"}');
