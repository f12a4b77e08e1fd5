import { once } from "node:events";
import type { Server } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { AddressInfo } from "node:net";

/** A server that others on this machine can ask; disposing it cuts who still does. */
export type LoopbackServer = AsyncDisposable & { readonly port: number };

/** Has a server listen on this machine's loopback alone, on a port of its own. */
export async function serveOnLoopback(server: Server | SecureServer): Promise<LoopbackServer> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
