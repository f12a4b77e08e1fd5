import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json, text } from "node:stream/consumers";
import type { ContainerCreateOptions } from "dockerode";
import { connectEngine } from "../../../runner-docker/src/engine/engine.ts";

/** The body of a request to create a container. */
export type CreateBody = ContainerCreateOptions & {
  readonly Labels: Readonly<Record<string, string>>;
  HostConfig: NonNullable<ContainerCreateOptions["HostConfig"]>;
};

/**
 * Creates a socket in front of the real engine that rewrites the creation of containers of a role, so that the code under test
 * stays unchanged. It hides PIDs, because a look at a container's mounts would show the change. With `blind`, it answers that
 * no path exists in a container.
 */
export async function createRewritingEngine(
  rewrite: (body: CreateBody) => Promise<void>,
  { blind = false, role = "turn" } = {},
) {
  const { endpoint } = await connectEngine(process.env, process.env["HOME"] ?? "/root");
  if (!("socketPath" in endpoint.address)) throw new Error("The test needs an engine on a Unix socket.");
  const { socketPath } = endpoint.address;
  const folder = mkdtempSync(join(tmpdir(), "budgie-rewriting-"));
  const path = join(folder, "engine.sock");
  const sockets = new Set<Socket>();

  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { headers, method = "GET", url = "/" } = incoming;
    const isCreation = method === "POST" && /\/containers\/create(\?|$)/.test(url);
    const body = isCreation ? ((await json(incoming)) as CreateBody) : undefined;
    if (body?.Labels["dev.budgie.role"] === role) await rewrite(body);
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const length = bytes === undefined ? {} : { "content-length": bytes.length };
    const call = request({ socketPath, method, path: url, headers: { ...headers, ...length }, agent: false });
    call.on("response", (response) => {
      outgoing.writeHead(response.statusCode ?? 500, response.headers);
      outgoing.flushHeaders();
      if (/\/containers\/[^/]+\/json/.test(url)) void text(response).then((facts) => outgoing.end(hidePid(facts)));
      else response.pipe(outgoing);
    });
    call.on("error", () => outgoing.destroy());
    outgoing.on("close", () => call.destroy());
    if (bytes === undefined) incoming.pipe(call);
    else call.end(bytes);
  }

  const server = createServer((incoming, outgoing) => {
    if (blind && incoming.method === "HEAD") outgoing.writeHead(404).end();
    else pass(incoming, outgoing).catch(() => outgoing.destroy());
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

/** Replaces the PID without changing the length, which the response's header has already announced. */
function hidePid(facts: string): string {
  return facts.replace(/"Pid":(\d+)/, (_, pid: string) => `"Pid":0${" ".repeat(pid.length - 1)}`);
}
