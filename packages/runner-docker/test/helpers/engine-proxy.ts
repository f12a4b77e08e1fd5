import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectEngine } from "../../src/engine/engine.ts";

/** A proxy of the real engine, whose traffic a test can watch and interrupt. */
export type EngineProxy = AsyncDisposable & {
  readonly hostEnv: { readonly DOCKER_HOST: string };
  /** Request lines, such as `GET /version HTTP/1.1`, in order of arrival; with the names of session containers in place of their ids */
  readonly requestLines: () => readonly string[];
  /** Holds back the answers to such requests until the returned function is called; attached connections continue */
  hush(requestLines?: RegExp): () => void;
  /** Blocks both directions, like an engine that hangs, until the returned function is called */
  freeze(): () => void;
  /** Requests without an answer, and attached connections */
  readonly pending: () => readonly string[];
  /** Breaks all open connections, like the death of budgie; new ones are possible */
  cut(): void;
};

const ID = /[0-9a-f]{64}/;
const SESSION_CREATION = /\/containers\/create\?name=(budgie-session-[0-9a-f-]{36}) /;

/** Opens a unix socket in front of the engine that the tests use. */
export async function createEngineProxy(): Promise<EngineProxy> {
  const { endpoint } = await connectEngine(process.env, process.env["HOME"] ?? "/root");
  const { address } = endpoint;
  if ("ssh" in address) throw new Error("This needs an engine that is not behind ssh.");
  const target = "socketPath" in address ? { path: address.socketPath } : { host: address.host, port: address.port };
  const folder = mkdtempSync(join(tmpdir(), "budgie-proxy-"));
  const path = join(folder, "engine.sock");
  const lines: string[] = [];
  const open = new Set<Socket>();
  const asked = new Map<Socket, { readonly engine: Socket; readonly line: string }>();
  let hushed: RegExp | undefined;
  const kept = new Set<Socket>();
  let isFrozen = false;
  const answered = new Set<Socket>();
  const creating = new Map<Socket, string>();
  const names = new Map<string, string>();
  const withName = (line: string): string => line.replace(ID, (id) => names.get(id) ?? id);
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
      for (const [sent] of said) {
        const line = withName(sent);
        lines.push(line);
        const created = SESSION_CREATION.exec(line)?.[1];
        if (created !== undefined) creating.set(client, created);
        asked.set(client, { engine, line });
        answered.delete(client);
        keepBack(client, line);
      }
    });
    client.pipe(engine);
    engine.pipe(client);
    engine.on("data", (chunk: Buffer) => {
      answered.add(client);
      const [id] = creating.has(client) ? (ID.exec(chunk.toString("latin1")) ?? []) : [];
      if (id === undefined) return;
      names.set(id, creating.get(client) ?? id);
      creating.delete(client);
    });
    // A client that has disconnected waits for no answer, even if the engine keeps the connection open.
    if (isFrozen) for (const socket of [client, engine]) socket.pause();
    for (const event of ["end", "close"]) client.on(event, () => asked.delete(client));
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const cut = (): void => open.forEach((socket) => socket.destroy());
  const hush = (requestLines = /^(?!POST \S+\/attach)/): (() => void) => {
    hushed = requestLines;
    asked.forEach(({ line }, client) => {
      if (!answered.has(client)) keepBack(client, line);
    });
    return () => {
      hushed = undefined;
      kept.forEach((client) => asked.get(client)?.engine.pipe(client));
      kept.clear();
    };
  };
  return {
    hostEnv: { DOCKER_HOST: `unix://${path}` },
    hush,
    freeze() {
      isFrozen = true;
      open.forEach((socket) => socket.pause());
      return () => {
        isFrozen = false;
        open.forEach((socket) => socket.resume());
      };
    },
    pending: () =>
      [...asked]
        .filter(([client, { line }]) => !answered.has(client) || line.includes("/attach"))
        .map(([, { line }]) => line),
    requestLines: () => lines,
    cut,
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true });
    },
  };
}
