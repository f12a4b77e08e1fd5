import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Route } from "./route.ts";
import type { Upstream } from "./upstream.ts";

// Node gives each of a name's addresses a quarter of a second, and then never looks at it again.
const ATTEMPT_MS = 3_000;

/** Connects to the host at the end of a route, through the proxy on the way if there is one. */
export function dialHost({ addresses, host, port, upstream }: Route, timeoutMs: number): Promise<Socket> {
  if (upstream) return dialThrough(upstream, `${host}:${port}`, timeoutMs);
  const socket = connect({
    host,
    port,
    // The addresses that were checked, and not what the name resolves to by now.
    lookup: (_host, _options, found) => found(null, [...addresses]),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
    allowHalfOpen: true,
    noDelay: true,
  });
  return whenReady(socket, "connect", timeoutMs);
}

/** Connects to the proxy on a route itself. */
export function dialProxy({ host, port, secure }: Upstream, timeoutMs: number): Promise<Socket> {
  return secure
    ? whenReady(
        connectTls({ host, port, ...(isIP(host) === 0 ? { servername: host } : {}) }),
        "secureConnect",
        timeoutMs,
      )
    : whenReady(connect({ host, port, noDelay: true }), "connect", timeoutMs);
}

function whenReady(socket: Socket, event: "connect" | "secureConnect", timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => socket.destroy(new Error("No connection in time.")), timeoutMs);
    socket.on("error", reject);
    socket.once("close", () => clearTimeout(timer));
    socket.once(event, () => {
      clearTimeout(timer);
      resolve(socket);
    });
  });
}

function dialThrough(
  { authorization, host, port, secure }: Upstream,
  target: string,
  timeoutMs: number,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const request = (secure ? httpsRequest : httpRequest)({
      host,
      port,
      method: "CONNECT",
      path: target,
      headers: { host: target, ...(authorization === undefined ? {} : { "proxy-authorization": authorization }) },
      agent: false,
    });
    const timer = setTimeout(() => request.destroy(new Error("No connection in time.")), timeoutMs);
    request.once("close", () => clearTimeout(timer)).on("error", reject);
    request.once("connect", ({ statusCode = 0 }, socket, head) => {
      clearTimeout(timer);
      socket.on("error", reject).setNoDelay?.(true);
      if (statusCode < 200 || statusCode > 299) {
        socket.destroy();
        reject(new Error(`The proxy on the way answered with status ${statusCode}.`));
        return;
      }
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    request.end();
  });
}
