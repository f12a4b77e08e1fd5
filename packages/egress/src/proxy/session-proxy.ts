import { createServer, type OutgoingHttpHeaders, type RequestListener, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { EgressPolicy, EgressReport } from "@budgie/core/egress";
import { BudgieError } from "@budgie/core/errors";
import { ESTABLISHED, handleConnect } from "./handle-connect.ts";
import type { EgressLimits } from "../dial/egress-limits.ts";
import { createEgressLog } from "./egress-log.ts";
import { isStillAllowed, type Own, type ProxyContext } from "./connection.ts";
import { handlePlain } from "./handle-plain.ts";
import { hangUp, sendRefusal, type Refusal } from "./refusal.ts";
import type { RouteFinder } from "../dial/route.ts";
import type { Target } from "./target.ts";
import { createCertificateWatch } from "./certificate-watch.ts";

const MAX_SOCKET_PATH_BYTES = 103;
const REFUSE_ALL: EgressPolicy = { mode: "none", hosts: [] };

/** The proxy of one session. */
export type SessionProxy = {
  /** Applies a policy, and closes connections that it does not allow. Before the first one, everything is refused. */
  setPolicy(policy: EgressPolicy): Promise<void>;
  /** Returns the report since the last call, bounded in size. */
  take(): Promise<EgressReport>;
  /**
   * Answers requests to the proxy itself under any policy, including those that clients send through it to its own address, such as
   * `127.0.0.1:3128`; left out if the proxy runs in another process.
   */
  serve?(answer: RequestListener, address: string): void;
  close(): Promise<void>;
};

/** Creates an HTTP proxy on a unix socket. It refuses everything until it gets a policy. */
export async function createSessionProxy(
  socketPath: string,
  { findRoute, limits }: ProxyOptions,
): Promise<SessionProxy> {
  let policy = REFUSE_ALL;
  let own: Own | undefined;
  const log = createEgressLog();
  const context: ProxyContext = {
    policy: () => policy,
    log,
    watchCertificate: createCertificateWatch(log),
    limits,
    findRoute,
    connections: new Set(),
    own: () => own,
  };
  const { close, listen } = createProxyServer(context);
  await listen(socketPath);
  return {
    setPolicy: async (next) => {
      policy = next;
      for (const connection of context.connections) if (!isStillAllowed(connection, next)) connection.close();
    },
    take: async () => context.log.take(),
    serve: (answer, address) => void (own = { answer, address }),
    close,
  };
}

type ProxyOptions = {
  readonly limits: EgressLimits;
  readonly findRoute: RouteFinder;
};

type ProxyServer = { readonly listen: (socketPath: string) => Promise<void>; readonly close: () => Promise<void> };

function createProxyServer(context: ProxyContext): ProxyServer {
  const { limits } = context;
  const sockets = new Set<Duplex>();
  const surplus = new WeakSet<Duplex>();
  const tunnels = new WeakMap<Duplex, Target>();
  const server = createServer({
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headerMs,
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(1_000, limits.headerMs),
    insecureHTTPParser: false,
    noDelay: true,
  });
  // One request per connection: further bytes are discarded, so that no smuggled request follows.
  server.maxRequestsPerSocket = 1;
  server.maxConnections = limits.connections * 4;
  server.timeout = limits.idleMs;
  server.prependListener("connection", (socket: Socket) => {
    // A tunnel with plain HTTP is emitted here a second time.
    if (sockets.has(socket)) return;
    if (sockets.size >= limits.connections) surplus.add(socket);
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("request", (request, response) => {
    if (surplus.has(request.socket)) return sendRefusal(response, surplusRefusal(context));
    const tunnel = tunnels.get(request.socket);
    const own = context.own();
    const path = own && findOwnPath(request.url ?? "", own, tunnel);
    if (path !== undefined) return own?.answer(Object.assign(request, { url: path }), endingConnection(response));
    handlePlain(context, { request, response }, tunnel).catch(() => request.socket.destroy());
  });
  server.on("connect", (request, client: Socket, head) => {
    if (surplus.has(client)) return hangUp(client, surplusRefusal(context));
    if (tunnels.has(client)) return client.destroy();
    if (head.length > 0) client.unshift(head);
    const serveHttp = (target: Target): void => {
      tunnels.set(client, target);
      server.emit("connection", client);
      client.resume();
    };
    if (request.url === context.own()?.address) {
      client.write(ESTABLISHED);
      return serveHttp(OWN);
    }
    handleConnect(context, { authority: request.url ?? "", client }, serveHttp).catch(() => client.destroy());
  });
  return {
    listen: (socketPath) =>
      new Promise((resolve, reject) => {
        if (Buffer.byteLength(socketPath) > MAX_SOCKET_PATH_BYTES) throw pathError(socketPath);
        server.once("error", reject);
        // The directory limits access; the user inside a sandbox is another one.
        server.listen({ path: socketPath, readableAll: true, writableAll: true }, resolve);
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

// A tunnel to the proxy itself.
const OWN: Target = { host: "", port: 0 };

/**
 * Returns the path of a request to the proxy itself; `undefined` for any other request. Some clients use a proxy for all addresses, even
 * its own.
 */
function findOwnPath(url: string, { address }: Own, tunnel: Target | undefined): string | undefined {
  const path =
    tunnel === undefined && url.startsWith(`http://${address}/`) ? url.slice(`http://${address}`.length) : url;
  return path.startsWith("/") && (tunnel === undefined || tunnel === OWN) ? path : undefined;
}

/** Makes a response close its connection, whatever headers it is given, so that the client sends no second request on it. */
function endingConnection(response: ServerResponse): ServerResponse {
  const writeHead = response.writeHead.bind(response);
  const writeLast = (status: number, headers: OutgoingHttpHeaders = {}): ServerResponse =>
    writeHead(status, { ...headers, connection: "close" });
  return Object.assign(response, { writeHead: writeLast });
}

function surplusRefusal({ limits, log }: ProxyContext): Refusal {
  log.deny("(any)", 0, "too many connections at once");
  const why = `more than ${limits.connections} connections are open at once; close some, and try again`;
  return { status: 503, target: "this host", why };
}

function pathError(socketPath: string): BudgieError {
  return new BudgieError(
    "CONFIG_INVALID",
    `Cannot open the egress proxy at "${socketPath}": the path is longer than the ${MAX_SOCKET_PATH_BYTES} bytes of a ` +
      "socket address. Choose a shorter one.",
  );
}
