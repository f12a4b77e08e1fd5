import { connect } from "node:net";
import { once } from "node:events";
import type { WebSocket } from "ws";
import { createFrameReader } from "../../src/wire/frame-reader.ts";
import { encodeFrame } from "../../src/wire/frame.ts";
import type { Direction } from "./describe-frames.ts";

/** The boundary of frames at which an exec breaks: after so many of one direction. */
export type Boundary = { readonly direction: Direction; readonly frames: number };

/** Serves an exec of a sidecar's bridge, which breaks at a boundary. Calls `onCut` when it does. */
export function serveBridge(
  exec: WebSocket,
  path: string,
  { boundary, onCut }: { readonly boundary: Boundary | undefined; readonly onCut: () => void },
): void {
  const bridge = connect(path);
  const end = (): void => {
    exec.terminate();
    bridge.destroy();
  };
  bridge.on("error", end);
  bridge.once("close", end);
  exec.once("close", end);
  const cut = (): void => {
    onCut();
    end();
  };
  const readers = {
    toPod: {
      read: createFrameReader().read,
      send: (bytes: Buffer, sent: () => void) => void bridge.write(bytes, sent),
    },
    toBudgie: {
      read: createFrameReader().read,
      send: (bytes: Buffer, sent: () => void) => exec.send(Buffer.concat([Buffer.of(1), bytes]), sent),
    },
  };
  let isOver = false;
  const left = { toPod: Infinity, toBudgie: Infinity, ...(boundary && { [boundary.direction]: boundary.frames }) };
  const pass = (direction: Direction, piece: Buffer): void => {
    const { read, send } = readers[direction];
    for (const frame of read(piece)) {
      if (isOver) return;
      left[direction] -= 1;
      isOver = left[direction] === 0;
      send(encodeFrame(frame), isOver ? cut : () => undefined);
    }
  };
  exec.on("message", (message: Buffer) => (message[0] === 0 ? pass("toPod", message.subarray(1)) : undefined));
  if (boundary?.frames === 0) return cut();
  void once(bridge, "connect").then(() => bridge.on("data", (piece: Buffer) => pass("toBudgie", piece)));
}
