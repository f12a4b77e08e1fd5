import { createServer } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { EgressPolicy, EgressReport } from "@budgie/core/egress";
import { BudgieError } from "@budgie/core/errors";
import { handleConnect } from "./connect-request.ts";
import type { EgressLimits } from "../dial/limits.ts";
import { createEgressLog } from "./egress-log.ts";
import { isStillAllowed, type ProxyContext } from "./connection.ts";
import { handlePlain } from "./plain-request.ts";
import { hangUp, sendRefusal, type Refusal } from "./refusal.ts";
import type { RouteFinder } from "../dial/route.ts";
import type { Target } from "./target.ts";

const MAX_SOCKET_PATH_BYTES = 103;
const REFUSE_ALL: EgressPolicy = { mode: "none", hosts: [] };

/** The proxy of one session. */
export type SessionProxy = {
  /** Applies a policy, and closes connections that it does not allow. Before the first one, everything is refused. */
  setPolicy(policy: EgressPolicy): Promise<void>;
  /** Returns the report since the last call, bounded in size. */
  take(): Promise<EgressReport>;
  close(): Promise<void>;
};

/** Creates an HTTP proxy on a unix socket. It refuses everything until it gets a policy. */
export async function createSessionProxy(
  socketPath: string,
  { findRoute, limits }: SessionProxyOptions,
): Promise<SessionProxy> {
  let policy = REFUSE_ALL;
  const context: ProxyContext = {
    policy: () => policy,
    log: createEgressLog(),
    limits,
    findRoute,
    connections: new Set(),
  };
  const { close, listen } = createProxyServer(context);
  await listen(socketPath);
  return {
    setPolicy: async (next) => {
      policy = next;
      for (const connection of context.connections) if (!isStillAllowed(connection, next)) connection.close();
    },
    take: async () => context.log.take(),
    close,
  };
}

type SessionProxyOptions = {
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
  // One request a connection: further bytes are discarded, so that no smuggled request follows.
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
    if (surplus.has(request.socket)) return sendRefusal(response, toSurplus(context));
    handlePlain(context, { request, response }, tunnels.get(request.socket)).catch(() => request.socket.destroy());
  });
  server.on("connect", (request, client: Socket, head) => {
    if (surplus.has(client)) return hangUp(client, toSurplus(context));
    if (tunnels.has(client)) return client.destroy();
    if (head.length > 0) client.unshift(head);
    const serveHttp = (target: Target): void => {
      tunnels.set(client, target);
      server.emit("connection", client);
      client.resume();
    };
    handleConnect(context, { authority: request.url ?? "", client }, serveHttp).catch(() => client.destroy());
  });
  return {
    listen: (socketPath) =>
      new Promise((resolve, reject) => {
        if (Buffer.byteLength(socketPath) > MAX_SOCKET_PATH_BYTES) throw toPathError(socketPath);
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

function toSurplus({ limits, log }: ProxyContext): Refusal {
  log.deny("(any)", 0, "too many connections at once");
  const why = `more than ${limits.connections} connections are open at once; close some, and try again`;
  return { status: 503, target: "this host", why };
}

function toPathError(socketPath: string): BudgieError {
  return new BudgieError(
    "CONFIG_INVALID",
    `Cannot open the egress proxy at "${socketPath}": the path is longer than the ${MAX_SOCKET_PATH_BYTES} bytes of a ` +
      "socket address. Choose a shorter one.",
  );
}
