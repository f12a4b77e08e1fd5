import type { Socket } from "node:net";
import type { WireStream } from "../wire/wire-stream.ts";

/** The ends of a connection that is carried. */
export type Joining = {
  /** Closes the socket in a way that its other end does not take for an end */
  readonly cut: () => void;
  /** Hears that everything is closed */
  readonly onOver: () => void;
};

/** Carries bytes both ways, each until its own end, and both to an error of either. The socket must allow to be half open. */
export function joinSocket(socket: Socket, { input, output }: WireStream, { cut, onOver }: Joining): void {
  const halves = [socket, input, output];
  let left = halves.length;
  const close = (): void => {
    left -= 1;
    if (left === 0) onOver();
  };
  const fail = (): void => {
    cut();
    input.destroy();
    output.destroy();
  };
  for (const half of halves) {
    half.once("close", close);
    half.on("error", fail);
  }
  socket.once("close", () => (socket.readableEnded && socket.writableFinished ? undefined : fail()));
  socket.pipe(output);
  input.pipe(socket);
  socket.resume();
}
