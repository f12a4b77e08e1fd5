import type { Socket } from "node:net";

/** Passes bytes both ways until both sides have ended; an error, silence or too many bytes cut both. */
export function splice(
  client: Socket,
  server: Socket,
  { bytesPerConnection, idleMs }: { readonly bytesPerConnection: number; readonly idleMs: number },
): void {
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
      if (bytes > bytesPerConnection) cut();
    });
    from.pipe(to);
    from.on("error", cut).on("close", () => to.destroySoon());
  }
  // All bytes pass through it, in either direction, and so does every sign of life.
  client.setTimeout(idleMs, cut);
}
