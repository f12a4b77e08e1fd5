import type { IncomingMessage } from "node:http";
import { isSameTarget, type Target } from "./target.ts";

// What is about one connection and not about the message, and what says how long a message is and where it goes.
const OWN = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  // At 0, a proxy on the way answers in place of the host.
  "max-forwards",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The headers that go on to the next one: none of those about this connection, nor those that `Connection` names. */
export function toForwardedHeaders(rawHeaders: readonly string[]): [string, string][] {
  const headers = toPairs(rawHeaders);
  const named = headers
    .filter(([name]) => name.toLowerCase() === "connection")
    .flatMap(([, value]) => value.toLowerCase().split(","))
    .map((name) => name.trim());
  const own = new Set([...OWN, ...named]);
  return headers.filter(([name]) => !own.has(name.toLowerCase()));
}

// The methods that programs need. TRACE is not among them: its answer is the request itself, with
// headers added for a proxy on the way, such as its password.
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Finds the reason not to pass on a request; `undefined` if there is none. */
export function toProblem(request: IncomingMessage, target: Target): string | undefined {
  const { method = "" } = request;
  return METHODS.has(method) ? toAmbiguity(request, target) : `the method ${method}, which is not passed on`;
}

/** Finds a part of a request that servers may read differently. */
function toAmbiguity({ httpVersion, rawHeaders }: IncomingMessage, target: Target): string | undefined {
  const values = (name: string): string[] =>
    toPairs(rawHeaders)
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

function toPairs(rawHeaders: readonly string[]): [string, string][] {
  return rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ""] as [string, string]] : []));
}
