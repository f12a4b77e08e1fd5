import type { Socket } from "node:net";
import { checkHelloRetry, readOpening } from "../tls/read-opening.ts";
import { dialHost } from "../dial/dial-host.ts";
import { toFailure } from "./egress-log.ts";
import { admit, refuse, type ProxyContext } from "./connection.ts";
import { hangUp, type Refusal } from "./refusal.ts";
import type { Route } from "../dial/route.ts";
import { splice } from "./splice.ts";
import { parseAuthority, type Target } from "./target.ts";

export const ESTABLISHED = "HTTP/1.1 200 Connection established\r\n\r\n";
// Fatal alerts, so that a TLS client reports more than a lost connection.
const ACCESS_DENIED = Buffer.from([21, 3, 3, 0, 2, 2, 49]);
const INTERNAL_ERROR = Buffer.from([21, 3, 3, 0, 2, 2, 80]);

/**
 * Opens the tunnel that a CONNECT requests. On an allow-list it carries either TLS that names the requested host, or plain
 * HTTP, which `serveHttp` checks request by request.
 */
export async function handleConnect(
  context: ProxyContext,
  { authority, client }: { readonly authority: string; readonly client: Socket },
  serveHttp: (target: Target) => void,
): Promise<void> {
  const target = parseAuthority(authority);
  if ("why" in target) return hangUp(client, refuse(context, { host: target.printable, port: 0 }, target.why));
  const admission = await admit(context, target, client);
  if ("why" in admission) return hangUp(client, admission);
  if (client.destroyed) return;
  const tunnel = { client, target, route: admission.route };
  if (admission.connection.mode === "open") return openTunnel(context, tunnel);
  return checkTunnel(context, tunnel, serveHttp);
}

type Tunnel = { readonly client: Socket; readonly target: Target; readonly route: Route };

async function openTunnel(context: ProxyContext, { client, route, target }: Tunnel): Promise<void> {
  const { limits, log } = context;
  log.allow(target.host, target.port);
  const server = await dialHost(route, limits.dialMs).catch((error: Error) => {
    log.fail(target, error);
    return unreachable(target, error);
  });
  if ("why" in server) return hangUp(client, server);
  if (client.destroyed) {
    server.destroy();
    return;
  }
  client.write(ESTABLISHED);
  context.watchCertificate({ client, server, target, startsWithHello: true });
  splice(client, server, context.limits);
}

async function checkTunnel(context: ProxyContext, tunnel: Tunnel, serveHttp: (target: Target) => void): Promise<void> {
  const { client, target } = tunnel;
  client.write(ESTABLISHED);
  const read = await readOpening(client, target.host, { timeoutMs: context.limits.headerMs });
  if (read?.opening.kind === "nothing") {
    context.log.allow(target.host, target.port);
    client.destroySoon();
    return;
  }
  if (client.destroyed) return;
  if (!read) return refuseTls(context, tunnel, "neither TLS nor HTTP was spoken");
  if (read.opening.kind === "refused") return refuseTls(context, tunnel, read.opening.why);
  if (read.opening.kind === "tls") {
    const { end } = read.opening;
    // Later bytes wait for the server's answer, after which a second hello may have to be checked too.
    if (read.bytes.length > end) client.unshift(read.bytes.subarray(end));
    return passTls(context, tunnel, read.bytes.subarray(0, end));
  }
  client.unshift(read.bytes);
  serveHttp(target);
}

async function passTls(context: ProxyContext, tunnel: Tunnel, hello: Buffer): Promise<void> {
  const { client, route, target } = tunnel;
  const { limits, log } = context;
  log.allow(target.host, target.port);
  const server = await dialHost(route, limits.dialMs).catch((error: Error) => log.fail(target, error));
  if (!server) return alert(client, INTERNAL_ERROR);
  client.once("close", () => server.destroy());
  if (client.destroyed) {
    server.destroy();
    return;
  }
  server.write(hello);
  const retry = await checkHelloRetry({ client, server, host: target.host }, { timeoutMs: limits.idleMs });
  if (client.destroyed) return;
  if (retry === "passed") {
    context.watchCertificate({ client, server, target, startsWithHello: false });
    return splice(client, server, context.limits);
  }
  server.destroy();
  if (retry === "unanswered") return alert(client, INTERNAL_ERROR);
  refuseTls(context, tunnel, "TLS names another server midway (SNI)");
}

function refuseTls({ log }: ProxyContext, { client, target }: Tunnel, why: string): void {
  log.deny(target.host, target.port, why);
  alert(client, ACCESS_DENIED);
}

function alert(client: Socket, message: Buffer): void {
  client.write(message);
  client.destroySoon();
}

function unreachable({ host, port }: Target, error: Error): Refusal {
  return { status: 502, target: `${host}:${port}`, why: `it could not be reached (${toFailure(error)})` };
}
