import type { Socket } from "node:net";
import type { EgressLimits } from "../dial/limits.ts";
import type { HandOver } from "./hand-over.ts";

// A process costs some ms, as much as to pass on this.
const MUCH_BYTES = 4 * 1024 ** 2;

/**
 * Passes bytes both ways until both sides have ended; an error, silence or too many bytes cut both. What turns out to be
 * much is handed over, if that can be done at that moment, or when it is twice as much.
 */
export function splice(
  client: Socket,
  server: Socket,
  { handOver, limits }: { readonly limits: EgressLimits; readonly handOver: HandOver },
): void {
  let bytes = 0;
  let due = MUCH_BYTES;
  let given = false;
  const cut = (): void => {
    client.destroy();
    server.destroy();
  };
  const give = (): boolean => {
    if (bytes < due || client.writableLength > 0 || server.writableLength > 0) return false;
    due = bytes * 2;
    given = true;
    given = handOver([client, server], { bytes: limits.bytesPerConnection - bytes, idleMs: limits.idleMs });
    return given;
  };
  for (const [from, to] of [
    [client, server],
    [server, client],
  ] as const) {
    from.on("data", (chunk: Buffer) => {
      if (given) return;
      bytes += chunk.length;
      if (bytes > limits.bytesPerConnection) return cut();
      if (!to.write(chunk)) from.pause();
      else give();
    });
    to.on("drain", () => given || give() || from.resume());
    from.on("end", () => given || to.end());
    from.on("error", cut).on("close", () => to.destroySoon());
  }
  // All bytes pass through it, in either direction, and so does every sign of life.
  client.setTimeout(limits.idleMs, cut);
  client.resume();
  server.resume();
}
