import { encodeFrame, FRAME_COST, type Kind } from "./frame.ts";
import { wireError } from "./wire-error.ts";

/** The frames that the other end has not acknowledged, some of them not yet sent. */
export type Outbox = {
  /** Adds a frame behind the others. Throws if the other end has left too many unacknowledged */
  readonly add: (kind: Kind, stream: number, payload: Buffer) => void;
  /** Returns the next frame to send over the present connection */
  readonly next: () => Buffer | undefined;
  /** Forgets the frames before a number, which the other end has. Throws if it cannot have them, or had said more */
  readonly acknowledge: (before: number) => void;
  /** Makes all that is left be sent again, over a new connection */
  readonly rewind: () => void;
  /** Tells if data may be added */
  readonly hasRoom: () => boolean;
};

/** The bytes above which no data is added. At 50 ms to and fro that is 40 MiB/s. */
export const ROOM_BYTES = 2 * 1024 * 1024;

// Frames that open, end and reset streams fit in here besides the data, unless the other end opens and resets without an end.
const MOST_BYTES = 2 * ROOM_BYTES;

/** Creates an empty outbox. */
export function createOutbox(): Outbox {
  const frames: Buffer[] = [];
  let first = 0;
  let cursor = 0;
  let sentBefore = 0;
  let cost = 0;

  return {
    add(kind, stream, payload) {
      const frame = encodeFrame({ kind, stream, sequence: first + frames.length, payload });
      frames.push(frame);
      cost += frame.length + FRAME_COST;
      if (cost > MOST_BYTES) throw wireError("it acknowledged nothing");
    },
    next() {
      const frame = frames[cursor];
      if (frame === undefined) return undefined;
      cursor += 1;
      sentBefore = Math.max(sentBefore, first + cursor);
      return frame;
    },
    acknowledge(before) {
      if (before < first || before > sentBefore) throw wireError("it acknowledged frames out of order");
      const gone = frames.splice(0, before - first);
      for (const frame of gone) cost -= frame.length + FRAME_COST;
      first = before;
      cursor = Math.max(0, cursor - gone.length);
    },
    rewind() {
      cursor = 0;
    },
    hasRoom: () => cost < ROOM_BYTES,
  };
}
