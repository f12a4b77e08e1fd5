import type { Socket } from "node:net";

/**
 * Reads from a paused socket until `judge` has come to a judgement about what has arrived, and leaves the socket paused;
 * undefined if it ended first, or had neither come to one within the time and size.
 */
export function readUntil<Judgement>(
  socket: Socket,
  judge: (bytes: Buffer) => Judgement | undefined,
  { maxBytes, timeoutMs }: { readonly maxBytes: number; readonly timeoutMs: number },
): Promise<{ readonly bytes: Buffer; readonly judgement: Judgement } | undefined> {
  return new Promise((resolve) => {
    let bytes: Buffer = Buffer.alloc(0);
    const settle = (judgement: Judgement | undefined): void => {
      clearTimeout(timer);
      socket.off("data", onData).off("end", onEnd).off("close", onEnd);
      socket.pause();
      resolve(judgement === undefined ? undefined : { bytes, judgement });
    };
    const onData = (chunk: Buffer): void => {
      bytes = Buffer.concat([bytes, chunk]);
      const judgement = judge(bytes);
      if (judgement !== undefined || bytes.length > maxBytes) settle(judgement);
    };
    const onEnd = (): void => settle(undefined);
    const timer = setTimeout(onEnd, timeoutMs);
    socket.on("data", onData).on("end", onEnd).on("close", onEnd);
    socket.resume();
    if (socket.destroyed || socket.readableEnded) onEnd();
  });
}
