import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Opens a socket in front of an engine. `pass` connects the sockets of each client and of the engine. */
export async function openEngineProxy({ endpoint }, pass) {
  const { address } = endpoint;
  const target = address.socketPath ? { path: address.socketPath } : { host: address.host, port: address.port };
  if (address.tls)
    throw new Error("This benchmark needs an engine that is reached without TLS, such as by a Unix socket.");
  const folder = await mkdtemp(join(tmpdir(), "budgie-bench-"));
  const path = join(folder, "engine.sock");
  const sockets = new Set();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const engine = connect({ ...target, allowHalfOpen: true });
    for (const [socket, other] of [
      [client, engine],
      [engine, client],
    ]) {
      sockets.add(socket);
      socket.on("error", () => undefined).on("end", () => other.end());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    pass(client, engine);
  });
  await new Promise((resolve) => server.listen(path, resolve));
  return {
    url: `unix://${path}`,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true });
    },
  };
}
