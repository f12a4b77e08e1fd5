import { request as httpRequest, type ClientRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { dialHost, dialProxy } from "../dial/dial-host.ts";
import { listForwardedHeaders, findProblem } from "./list-forwarded-headers.ts";
import { admit, refuse, type ProxyContext } from "./connection.ts";
import { sendRefusal } from "./refusal.ts";
import type { Route } from "../dial/route.ts";
import { parseRequestUrl, type Target } from "./target.ts";

const TLS_PORT = 443;

/** Forwards one request in plain HTTP, rebuilt from its parsed parts. */
export async function handlePlain(
  context: ProxyContext,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  tunnel: Target | undefined,
): Promise<void> {
  // Without a listener, writing to a closed client would end the process.
  response.on("error", () => {});
  const target = parseRequestUrl(request.url ?? "", tunnel);
  if ("why" in target) return sendRefusal(response, refuse(context, { host: target.printable, port: 0 }, target.why));
  const problem = findProblem(request, target);
  if (problem !== undefined) {
    context.log.deny(target.host, target.port, `a request with ${problem}`);
    return sendRefusal(response, { status: 400, target: `${target.host}:${target.port}`, why: `it has ${problem}` });
  }
  const admission = await admit(context, target, request.socket);
  if ("why" in admission) return sendRefusal(response, admission);
  if (admission.connection.mode !== "open" && target.port === TLS_PORT) {
    return sendRefusal(response, refuse(context, target, "plain HTTP to the port of HTTPS"));
  }
  if (request.socket.destroyed) return;
  context.log.allow(target.host, target.port);
  await forward(context, { request, response, target, route: admission.route });
}

type Forwarding = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: Target & { readonly path: string };
  readonly route: Route;
};

async function forward({ limits, log }: ProxyContext, { request, response, route, target }: Forwarding): Promise<void> {
  const { upstream } = route;
  const server = await (upstream ? dialProxy(upstream, limits.dialMs) : dialHost(route, limits.dialMs)).catch(
    (error: Error) => log.fail(target, error),
  );
  const unreachable = { status: 502, target: `${target.host}:${target.port}`, why: "it could not be reached" } as const;
  if (!server) return sendRefusal(response, unreachable);
  if (request.socket.destroyed) {
    server.destroy();
    return;
  }
  const outgoing = openOutgoing(request, { server, target, upstream });
  const fail = (): unknown => (response.headersSent ? response.destroy() : sendRefusal(response, unreachable));
  outgoing.on("error", (error) => {
    if (!response.headersSent && !request.socket.destroyed) log.fail(target, error);
    fail();
  });
  outgoing.once("response", (incoming) => (isValidResponse(incoming) ? sendResponse(incoming, response) : fail()));
  // No upgrade was requested, so the client would wait for an answer forever.
  outgoing.once("upgrade", (_incoming, socket) => {
    socket.destroy();
    fail();
  });
  response.once("close", () => outgoing.destroy());
  limitBytes(request.socket, server, limits.bytesPerConnection);
  request.pipe(outgoing);
}

function openOutgoing(
  request: IncomingMessage,
  {
    server,
    target,
    upstream,
  }: { readonly server: Socket; readonly target: Forwarding["target"] } & Pick<Route, "upstream">,
): ClientRequest {
  const authority = target.port === 80 ? target.host : `${target.host}:${target.port}`;
  const outgoing = httpRequest({
    method: request.method,
    path: upstream ? `http://${authority}${target.path}` : target.path,
    createConnection: () => server,
    setHost: false,
  });
  outgoing.setHeader("Host", authority);
  for (const [name, value] of listForwardedHeaders(request.rawHeaders)) outgoing.appendHeader(name, value);
  if (upstream?.authorization !== undefined) outgoing.setHeader("Proxy-Authorization", upstream.authorization);
  // Exactly one framing of the body, as it was parsed.
  if (request.headers["transfer-encoding"] !== undefined) outgoing.setHeader("Transfer-Encoding", "chunked");
  else if (request.headers["content-length"] !== undefined) {
    outgoing.setHeader("Content-Length", request.headers["content-length"]);
  }
  return outgoing;
}

/** Returns true if a response has a valid final status. `writeHead` throws on others, and that would end the process. */
function isValidResponse({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode <= 999;
}

function sendResponse(incoming: IncomingMessage, response: ServerResponse): void {
  const headers = listForwardedHeaders(incoming.rawHeaders).flat();
  const length = incoming.headers["content-length"];
  if (length !== undefined) headers.push("Content-Length", length);
  response.writeHead(incoming.statusCode ?? 502, [...headers, "Connection", "close"]);
  incoming.on("error", () => response.destroy());
  incoming.once("aborted", () => response.destroy());
  incoming.pipe(response);
}

function limitBytes(client: Socket, server: Socket, maxBytes: number): void {
  const check = setInterval(() => {
    if (server.bytesRead + server.bytesWritten > maxBytes) client.destroy();
  }, 200);
  check.unref();
  server.once("close", () => clearInterval(check));
}
