import type { Socket } from "node:net";

/**
 * Reads from a paused socket until `parse` returns a result for the bytes so far, and pauses the socket again. Resolves to
 * `undefined` if the socket ends, the timeout passes or `maxBytes` arrive before a result.
 */
export function readUntil<Result>(
  socket: Socket,
  parse: (bytes: Buffer) => Result | undefined,
  { maxBytes, timeoutMs }: { readonly maxBytes: number; readonly timeoutMs: number },
): Promise<{ readonly bytes: Buffer; readonly result: Result } | undefined> {
  return new Promise((resolve) => {
    let bytes: Buffer = Buffer.alloc(0);
    const settle = (result: Result | undefined): void => {
      clearTimeout(timer);
      socket.off("data", onData).off("end", onEnd).off("close", onEnd);
      socket.pause();
      resolve(result === undefined ? undefined : { bytes, result });
    };
    const onData = (chunk: Buffer): void => {
      bytes = Buffer.concat([bytes, chunk]);
      const result = parse(bytes);
      if (result !== undefined || bytes.length > maxBytes) settle(result);
    };
    const onEnd = (): void => settle(undefined);
    const timer = setTimeout(onEnd, timeoutMs);
    socket.on("data", onData).on("end", onEnd).on("close", onEnd);
    socket.resume();
    if (socket.destroyed || socket.readableEnded) onEnd();
  });
}
