import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectEngine } from "../src/engine.ts";

/** A wire to the real engine that a test can listen to, and cut. */
export type EngineProxy = AsyncDisposable & {
  readonly hostEnv: { readonly DOCKER_HOST: string };
  /** Request lines, such as `GET /version HTTP/1.1`, in the order they came */
  readonly requestLines: () => readonly string[];
  /** Breaks all connections there are, as the death of budgie would; new ones can be made */
  cut(): void;
};

/** Opens a unix socket in front of the engine that the tests use. */
export async function createEngineProxy(): Promise<EngineProxy> {
  const { endpoint } = await connectEngine(process.env, process.env["HOME"] ?? "/root");
  const { address } = endpoint;
  const target = "socketPath" in address ? { path: address.socketPath } : { host: address.host, port: address.port };
  const folder = mkdtempSync(join(tmpdir(), "budgie-proxy-"));
  const path = join(folder, "engine.sock");
  const lines: string[] = [];
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const engine = connect({ ...target, allowHalfOpen: true });
    for (const socket of [client, engine]) {
      open.add(socket);
      socket.on("error", () => undefined).on("close", () => open.delete(socket));
    }
    client.on("data", (chunk: Buffer) => {
      const said = chunk.toString("latin1").matchAll(/(?:GET|HEAD|POST|PUT|DELETE) \S+ HTTP\/1\.1/g);
      lines.push(...[...said].map(([line]) => line));
    });
    client.pipe(engine);
    engine.pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const cut = (): void => open.forEach((socket) => socket.destroy());
  return {
    hostEnv: { DOCKER_HOST: `unix://${path}` },
    requestLines: () => lines,
    cut,
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true });
    },
  };
}
