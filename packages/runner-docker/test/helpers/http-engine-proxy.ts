import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { connectEngine } from "../../src/engine/engine.ts";

/** A request to the engine with a JSON body, which a test may change. */
type EngineRequest = { readonly method: string; readonly url: string; readonly body: Buffer };

/** The changes to what budgie and the engine say to each other. Attached streams and archives pass unchanged. */
type EngineChanges = {
  readonly toRequest?: (request: EngineRequest) => Promise<{ readonly url: string; readonly body: Buffer }>;
  /** Changes a JSON answer, whose length must stay */
  readonly toAnswer?: (url: string, answer: Buffer) => Buffer;
  /** Returns the status to answer with in place of the engine; `undefined` asks it */
  readonly toRefusal?: (method: string, url: string) => number | undefined;
};

/** A unix socket in front of the real engine, so that the code under test stays unchanged. */
export type HttpEngineProxy = AsyncDisposable & { readonly hostEnv: { readonly DOCKER_HOST: string } };

/** Opens a socket in front of the engine that the tests use. */
export async function createHttpEngineProxy(changes: EngineChanges): Promise<HttpEngineProxy> {
  const { endpoint } = await connectEngine(process.env, process.env["HOME"] ?? "/root");
  if (!("socketPath" in endpoint.address)) throw new Error("The test needs an engine on a Unix socket.");
  const { socketPath } = endpoint.address;
  const folder = mkdtempSync(join(tmpdir(), "budgie-engine-"));
  const path = join(folder, "engine.sock");
  const sockets = new Set<Socket>();

  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { headers, method = "GET", url: asked = "/" } = incoming;
    const isJson = headers["content-type"]?.startsWith("application/json") === true;
    const body = isJson ? await buffer(incoming) : Buffer.alloc(0);
    const changed = (await changes.toRequest?.({ method, url: asked, body })) ?? { url: asked, body };
    const length = isJson ? { "content-length": changed.body.length } : {};
    const call = request({ socketPath, method, path: changed.url, headers: { ...headers, ...length }, agent: false });
    call.on("response", (response) => {
      outgoing.writeHead(response.statusCode ?? 500, response.headers);
      outgoing.flushHeaders();
      const { toAnswer } = changes;
      const isWhole = toAnswer !== undefined && isAnswer(asked, response);
      if (isWhole) void buffer(response).then((answer) => outgoing.end(toAnswer(asked, answer)));
      else response.pipe(outgoing);
    });
    call.on("error", () => outgoing.destroy());
    outgoing.on("close", () => call.destroy());
    if (isJson) call.end(changed.body);
    else incoming.pipe(call);
  }

  const server = createServer((incoming, outgoing) => {
    const status = changes.toRefusal?.(incoming.method ?? "GET", incoming.url ?? "/");
    if (status === undefined) pass(incoming, outgoing).catch(() => outgoing.destroy());
    else outgoing.writeHead(status).end();
  });
  server.on("connection", (socket: Socket) => void sockets.add(socket));
  server.on("upgrade", ({ headers, method, url }: IncomingMessage, client: Socket, head: Buffer) => {
    const engine = connect({ path: socketPath, allowHalfOpen: true });
    sockets.add(engine);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
    engine.write(`${method} ${url} HTTP/1.1\r\n${lines.join("")}\r\n`);
    engine.write(head);
    client.pipe(engine);
    engine.pipe(client);
    for (const socket of [client, engine]) socket.on("error", () => undefined);
    client.on("close", () => engine.destroy());
    engine.on("close", () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    hostEnv: { DOCKER_HOST: `unix://${path}` },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true });
    },
  };
}

/** Returns true for JSON that ends, unlike the events and outputs that the engine goes on sending. */
function isAnswer(url: string, { headers }: IncomingMessage): boolean {
  return headers["content-type"]?.startsWith("application/json") === true && !/\/(?:events|stats)\b/.test(url);
}
