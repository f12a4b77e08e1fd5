import type { IncomingMessage } from "node:http";
import { isSameTarget, type Target } from "./target.ts";

// Headers of the connection instead of the message, and those that the proxy writes itself: length and destination.
const HOP_BY_HOP = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  // At 0, an upstream proxy answers instead of the host.
  "max-forwards",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Returns the headers to forward: without those of this connection and those that `Connection` names. */
export function listForwardedHeaders(rawHeaders: readonly string[]): [string, string][] {
  const headers = listPairs(rawHeaders);
  const named = headers
    .filter(([name]) => name.toLowerCase() === "connection")
    .flatMap(([, value]) => value.toLowerCase().split(","))
    .map((name) => name.trim());
  const own = new Set([...HOP_BY_HOP, ...named]);
  return headers.filter(([name]) => !own.has(name.toLowerCase()));
}

// The methods that programs need, without TRACE: its answer repeats the request, with headers that were added for the upstream
// proxy, such as its password.
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Returns the reason not to forward a request; `undefined` if there is none. */
export function findProblem(request: IncomingMessage, target: Target): string | undefined {
  const { method = "" } = request;
  return METHODS.has(method) ? findAmbiguity(request, target) : `the method ${method}, which is not passed on`;
}

/** Returns the part of a request that servers may interpret differently. */
function findAmbiguity({ httpVersion, rawHeaders }: IncomingMessage, target: Target): string | undefined {
  const values = (name: string): string[] =>
    listPairs(rawHeaders)
      .filter(([header]) => header.toLowerCase() === name)
      .map(([, value]) => value);
  const lengths = values("content-length");
  const encodings = values("transfer-encoding");
  const hosts = values("host");
  if (hosts.length !== 1 || !hosts.every((host) => isSameTarget(host, target))) return "a Host that is not its target";
  if (lengths.length > 1 || lengths.some((length) => !/^\d{1,15}$/.test(length))) return "an odd Content-Length";
  if (encodings.length > 0 && lengths.length > 0) return "both a Content-Length and a Transfer-Encoding";
  if (encodings.length > 0 && (encodings.join() !== "chunked" || httpVersion !== "1.1"))
    return "an odd Transfer-Encoding";
  return undefined;
}

function listPairs(rawHeaders: readonly string[]): [string, string][] {
  return rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ""] as [string, string]] : []));
}
