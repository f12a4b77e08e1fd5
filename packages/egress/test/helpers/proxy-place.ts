import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EgressPolicy } from "@budgie/core";
import { createEgressProxy, type EgressProxy, type EgressProxyOptions } from "../../src/proxy/egress-proxy.ts";
import type { SessionProxy } from "../../src/proxy/session-proxy.ts";
import { parseAllowedHost } from "../../src/rules/parse-allowed-host.ts";

/** A session of a proxy with a policy, in a folder of its own. */
export type ProxyPlace = {
  readonly socketPath: string;
  readonly session: SessionProxy;
  readonly proxy: EgressProxy;
  readonly close: () => Promise<void>;
};

export async function createProxyPlace(policy: EgressPolicy, options: EgressProxyOptions = {}): Promise<ProxyPlace> {
  const directory = await mkdtemp(join(tmpdir(), "budgie-egress-"));
  const socketPath = join(directory, "p.sock");
  const lookup = options.lookup ?? (async () => Promise.reject(new Error("No test looks names up on the system.")));
  const proxy = createEgressProxy({ ...options, lookup });
  const session = await proxy.open({ socketPath });
  await session.setPolicy(policy);
  const close = async (): Promise<void> => {
    await proxy.close();
    await rm(directory, { recursive: true });
  };
  return { socketPath, session, proxy, close };
}

export function toPolicy(mode: EgressPolicy["mode"], ...hosts: readonly string[]): EgressPolicy {
  return { mode, hosts: hosts.map((host) => parseAllowedHost(host, "test")) };
}

/** A server on loopback that records its connections. */
export type Origin = {
  readonly port: number;
  /** Number of accepted connections */
  readonly connections: () => number;
  /** All bytes that clients sent */
  readonly received: () => string;
  readonly close: () => Promise<void>;
};

export async function createOrigin(serve: (socket: Socket) => void = () => {}): Promise<Origin> {
  return watch(createServer({ allowHalfOpen: true }, serve), "connection");
}

/** Makes a server listen on loopback, and records its connections. */
export async function watch(server: Server, event: "connection"): Promise<Origin> {
  let connections = 0;
  const received: Buffer[] = [];
  const sockets = new Set<Socket>();
  server.prependListener(event, (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("error", () => {}).once("close", () => sockets.delete(socket));
    socket.on("data", (chunk: Buffer) => received.push(chunk));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    received: () => Buffer.concat(received).toString("latin1"),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Sends bytes to a proxy socket, and reads the answer until the proxy closes the connection. */
export async function exchange(socketPath: string, request: string): Promise<string> {
  const socket = connect(socketPath);
  socket.write(request, "latin1");
  return readToEnd(socket);
}

export async function readToEnd(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", () => {});
  await once(socket, "close");
  return Buffer.concat(chunks).toString("latin1");
}

/** Requests a tunnel; returns the answer's head and the socket. */
export async function openTunnel(
  socketPath: string,
  authority: string,
): Promise<{ readonly head: string; readonly socket: Socket }> {
  const socket = connect(socketPath);
  socket.on("error", () => {});
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  const [chunk] = (await Promise.race([once(socket, "data"), once(socket, "close")])) as [unknown];
  socket.pause();
  return { head: Buffer.isBuffer(chunk) ? chunk.toString("latin1") : "", socket };
}
