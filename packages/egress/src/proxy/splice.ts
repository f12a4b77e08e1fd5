import type { Socket } from "node:net";
import type { EgressLimits } from "../dial/egress-limits.ts";

/** Copies bytes both ways until both sides have ended. An error, silence or too many bytes close both. */
export function splice(client: Socket, server: Socket, limits: EgressLimits): void {
  let bytes = 0;
  const cut = (): void => {
    client.destroy();
    server.destroy();
  };
  for (const [from, to] of [
    [client, server],
    [server, client],
  ] as const) {
    from.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > limits.bytesPerConnection) return cut();
      if (!to.write(chunk)) from.pause();
    });
    to.on("drain", () => from.resume());
    from.on("end", () => to.end());
    from.on("error", cut).on("close", () => to.destroySoon());
  }
  // Every byte passes the client's socket in one direction or the other, so its timeout covers both sides.
  client.setTimeout(limits.idleMs, cut);
  client.resume();
  server.resume();
}
