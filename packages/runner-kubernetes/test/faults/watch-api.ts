import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { request, type RequestOptions } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { buffer } from "node:stream/consumers";
import { KubeConfig } from "@kubernetes/client-node";
import { WebSocket, WebSocketServer } from "ws";
import { serveOnLoopback } from "@budgie/testkit";
import { describeFrames, type Direction } from "./describe-frames.ts";

/** A request about a Pod, its answer, or a frame of the wire to it, such as `POST`, `answer to POST`, `exec` or `open file fill`. */
type Passing = { readonly pod: string; readonly what: string };

/** A way to an API server on which a test sees what passes, and can hold it. */
export type WatchedApi = AsyncDisposable & { readonly kubeconfig: string };

/** Resolves when what passes may go on: to false if it gets lost. */
export type Hold = (passing: Passing) => Promise<boolean>;

const PROTOCOL = "v5.channel.k8s.io";
const HELD_METHODS = ["DELETE", "POST"];

/** Serves the way on the loopback interface, for which no certificate is needed. */
export async function watchApi(kubeconfig: string, hold: Hold): Promise<WatchedApi> {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const login: RequestOptions = {};
  await config.applyToHTTPSOptions(login);
  const upstream: Upstream = { server: config.getCurrentCluster()?.server ?? "", login, hold };
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => PROTOCOL });
  const server = createServer((from, to) => void relayRequest(upstream, from, to).catch(() => to.destroy()));
  server.on("upgrade", (from, socket, head) => {
    socket.on("error", () => undefined);
    const accept = (): Promise<WebSocket> =>
      new Promise((resolve) => sockets.handleUpgrade(from, socket, head, (client) => resolve(client)));
    void relayExec(upstream, from, { socket, accept }).catch(() => socket.destroy());
  });
  const loopback = await serveOnLoopback(server);
  const folder = mkdtempSync(join(tmpdir(), "budgie-watched-"));
  const path = join(folder, "kubeconfig");
  const entry = (kind: string, value: object) => [{ name: "watched", [kind]: value }];
  writeFileSync(
    path,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "watched",
      clusters: entry("cluster", { server: `http://127.0.0.1:${loopback.port}` }),
      users: entry("user", {}),
      contexts: entry("context", { cluster: "watched", user: "watched" }),
    }),
  );
  return {
    kubeconfig: path,
    async [Symbol.asyncDispose]() {
      for (const client of sockets.clients) client.terminate();
      server.closeAllConnections();
      await loopback[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
}

type Upstream = { readonly server: string; readonly login: RequestOptions; readonly hold: Hold };

async function relayRequest(upstream: Upstream, from: IncomingMessage, to: ServerResponse): Promise<void> {
  const { hold, login, server } = upstream;
  const { method = "", url = "" } = from;
  const { host: _host, ...headers } = from.headers;
  const body = await buffer(from);
  const pod = findPod(url, body);
  const isHeld = pod !== undefined && HELD_METHODS.includes(method);
  if (isHeld && !(await hold({ pod, what: method }))) return void to.destroy();
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const asked = request(new URL(url, server), { ...login, method, headers });
    to.once("close", () => asked.destroy());
    asked.on("response", resolve).on("error", reject).end(body);
  });
  answer.on("error", () => to.destroy());
  if (isHeld && !(await hold({ pod, what: `answer to ${method}` }))) return void to.destroy();
  to.writeHead(answer.statusCode ?? 500, answer.headers);
  // A client that waits for the first event of a watch has its answer.
  to.flushHeaders();
  answer.pipe(to);
}

function findPod(url: string, body: Buffer): string | undefined {
  const [, name] = /\/pods(?:\/([^/?]+))?/.exec(url) ?? [];
  if (!url.includes("/pods") || name !== undefined) return name;
  return body.length === 0 ? undefined : (JSON.parse(String(body)) as { metadata: { name: string } }).metadata.name;
}

type Client = { readonly socket: Duplex; readonly accept: () => Promise<WebSocket> };

async function relayExec(upstream: Upstream, { url = "" }: IncomingMessage, { accept, socket }: Client): Promise<void> {
  const { hold, login, server } = upstream;
  const pod = findPod(url, Buffer.alloc(0)) ?? "";
  if (!(await hold({ pod, what: "exec" }))) return void socket.destroy();
  const far = new WebSocket(new URL(url, server.replace("https:", "wss:")), [PROTOCOL], login);
  const early: Buffer[] = [];
  const keep = (message: Buffer): void => void early.push(message);
  far.on("message", keep);
  far.on("error", () => socket.destroy());
  await new Promise<void>((resolve, reject) => far.once("open", resolve).once("close", reject));
  const near = await accept();
  near.on("error", () => far.terminate());
  near.once("close", () => far.terminate());
  far.once("close", () => near.terminate());
  const toPod = relayMessages({ pod, direction: "toPod", to: far, hold });
  const toBudgie = relayMessages({ pod, direction: "toBudgie", to: near, hold });
  near.on("message", toPod);
  far.off("message", keep);
  for (const message of early) toBudgie(message);
  far.on("message", toBudgie);
}

type Relay = {
  readonly pod: string;
  readonly direction: Direction;
  readonly to: WebSocket;
  readonly hold: Hold;
};

/** Passes messages on in order, the frames in them one by one. */
function relayMessages({ direction, hold, pod, to }: Relay): (message: Buffer) => void {
  const read = describeFrames(pod, direction);
  const channel = Buffer.of(direction === "toPod" ? 0 : 1);
  let last = Promise.resolve();
  const send = async (bytes: Buffer): Promise<void> => {
    if (to.readyState === to.OPEN) to.send(bytes);
  };
  return (message) => {
    const isFrames = message[0] === channel[0] && message.length > 1;
    if (!isFrames) return void (last = last.then(() => send(message)));
    for (const { bytes, what } of read(message.subarray(1))) {
      last = last
        .then(() => what === undefined || hold({ pod, what }))
        .then((goesOn) => (goesOn ? send(Buffer.concat([channel, bytes])) : to.terminate()));
    }
  };
}
