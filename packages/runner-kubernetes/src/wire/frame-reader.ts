import { decodeHeader, HEADER_BYTES, type Frame } from "./frame.ts";

/** Splits bytes into frames, however they are cut into pieces. It keeps at most one frame, in memory of its own. */
export type FrameReader = {
  /** Yields the frames that a piece completes. Throws on what is no frame */
  readonly read: (piece: Buffer) => Generator<Frame>;
};

/** Creates the reader of one connection. */
export function createFrameReader(): FrameReader {
  const header = Buffer.alloc(HEADER_BYTES);
  let target = header;
  let filled = 0;
  let next: Omit<Frame, "payload"> | undefined;

  /** Returns the frame that is whole, if one is. */
  function complete(): Frame | undefined {
    filled = 0;
    if (next === undefined) {
      const { length, ...rest } = decodeHeader(header);
      next = rest;
      // Small parts of a piece would keep all of it in memory.
      target = Buffer.allocUnsafeSlow(length);
      if (length > 0) return undefined;
    }
    const frame = { ...next, payload: target };
    next = undefined;
    target = header;
    return frame;
  }

  return {
    *read(piece) {
      for (let at = 0; at < piece.length;) {
        const copied = piece.copy(target, filled, at);
        at += copied;
        filled += copied;
        const frame = filled === target.length ? complete() : undefined;
        if (frame !== undefined) yield frame;
      }
    },
  };
}
