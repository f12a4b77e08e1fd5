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
  /** Keeps back the answers to such requests until it is told to give them; what is attached to a container goes on */
  hush(requestLines?: RegExp): () => void;
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
  const asked = new Map<Socket, { readonly engine: Socket; readonly line: string }>();
  let hushed: RegExp | undefined;
  const kept = new Set<Socket>();
  const keepBack = (client: Socket, line: string): void => {
    if (hushed?.test(line) !== true) return;
    asked.get(client)?.engine.unpipe(client);
    kept.add(client);
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const engine = connect({ ...target, allowHalfOpen: true });
    for (const socket of [client, engine]) {
      open.add(socket);
      socket.on("error", () => undefined).on("close", () => open.delete(socket));
    }
    client.on("data", (chunk: Buffer) => {
      const said = chunk.toString("latin1").matchAll(/(?:GET|HEAD|POST|PUT|DELETE) \S+ HTTP\/1\.1/g);
      for (const [line] of said) {
        lines.push(line);
        asked.set(client, { engine, line });
        keepBack(client, line);
      }
    });
    client.pipe(engine);
    engine.pipe(client);
    client.on("close", () => asked.delete(client));
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const cut = (): void => open.forEach((socket) => socket.destroy());
  const hush = (requestLines = /^(?!POST \S+\/attach)/): (() => void) => {
    hushed = requestLines;
    asked.forEach(({ line }, client) => keepBack(client, line));
    return () => {
      hushed = undefined;
      kept.forEach((client) => asked.get(client)?.engine.pipe(client));
      kept.clear();
    };
  };
  return {
    hostEnv: { DOCKER_HOST: `unix://${path}` },
    hush,
    requestLines: () => lines,
    cut,
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true });
    },
  };
}
