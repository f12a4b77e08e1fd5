import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Route } from "./route.ts";
import type { Upstream } from "./parse-upstream.ts";

// Node's default gives each address of a name 250 ms, and then never retries it.
const ATTEMPT_MS = 3_000;

/** Connects to the host of a route, through its upstream proxy if it has one. */
export function dialHost({ addresses, host, port, upstream }: Route, timeoutMs: number): Promise<Socket> {
  if (upstream) return dialThroughUpstream(upstream, `${host}:${port}`, timeoutMs);
  const socket = connect({
    host,
    port,
    // Dials the addresses that were checked: the name may resolve to others by now.
    lookup: (_host, _options, found) => found(null, [...addresses]),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
    allowHalfOpen: true,
    noDelay: true,
  });
  return untilReady(socket, "connect", timeoutMs);
}

/** Connects to the upstream proxy itself. */
export function dialProxy({ host, port, secure }: Upstream, timeoutMs: number): Promise<Socket> {
  return secure
    ? untilReady(
        connectTls({ host, port, ...(isIP(host) === 0 ? { servername: host } : {}) }),
        "secureConnect",
        timeoutMs,
      )
    : untilReady(connect({ host, port, noDelay: true }), "connect", timeoutMs);
}

function untilReady(socket: Socket, event: "connect" | "secureConnect", timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => socket.destroy(new Error("The connection was not established before the timeout.")),
      timeoutMs,
    );
    socket.on("error", reject);
    socket.once("close", () => clearTimeout(timer));
    socket.once(event, () => {
      clearTimeout(timer);
      resolve(socket);
    });
  });
}

function dialThroughUpstream(
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
    const timer = setTimeout(
      () => request.destroy(new Error("The connection was not established before the timeout.")),
      timeoutMs,
    );
    request.once("close", () => clearTimeout(timer)).on("error", reject);
    request.once("connect", ({ statusCode = 0 }, socket, head) => {
      clearTimeout(timer);
      socket.on("error", reject).setNoDelay?.(true);
      if (statusCode < 200 || statusCode > 299) {
        socket.destroy();
        reject(new Error(`The upstream proxy answered with status ${statusCode}.`));
        return;
      }
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    request.end();
  });
}
