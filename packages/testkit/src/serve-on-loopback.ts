import { once } from "node:events";
import type { Server } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { AddressInfo } from "node:net";

/** A server on the loopback interface; disposal closes its connections too. */
export type LoopbackServer = AsyncDisposable & { readonly port: number };

/** Makes a server listen on a free port of the loopback interface. */
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
