import type { IncomingMessage } from "node:http";
import { isIPv6 } from "node:net";
import type { Refusal } from "./send-json.ts";

/** Checks the Host and Origin headers of requests. */
export type RequestGuard = {
  /** Returns why a request is refused; `undefined` if it is allowed. */
  readonly check: (request: IncomingMessage) => Refusal | undefined;
  /** Returns the CORS headers for a page of an allowed origin; empty for all other requests. */
  readonly toCorsHeaders: (request: IncomingMessage) => Readonly<Record<string, string>>;
};

export type RequestGuardOptions = {
  /** The name or address that the server listens on */
  readonly host: string;
  readonly allowedHosts: readonly string[];
  /** Such as `https://example.com` */
  readonly allowedOrigins: readonly string[];
};

/** Creates the guard against cross-site requests and DNS rebinding by pages in a browser. */
export function createRequestGuard({ allowedHosts, allowedOrigins, host }: RequestGuardOptions): RequestGuard {
  const names = new Set([...LOOPBACK, toHostName(host), ...allowedHosts.map(toHostName)]);
  // Normalized as browsers send them: lower case, without a default port
  const origins = new Set(allowedOrigins.map((origin) => new URL(origin).origin));

  return {
    check({ headers }) {
      const name = parseHostHeader(headers.host);
      if (name === undefined || !names.has(name)) return { status: 403, message: WRONG_HOST };
      const { origin } = headers;
      // The server's own origin is safe: budgie serves no pages, and some programs send it.
      if (origin === undefined || origin === `http://${headers.host}` || origins.has(origin)) return undefined;
      return { status: 403, message: WRONG_ORIGIN };
    },
    toCorsHeaders({ headers: { origin } }) {
      if (origin === undefined || !origins.has(origin)) return {};
      return {
        "access-control-allow-origin": origin,
        "access-control-expose-headers": "Mcp-Session-Id",
        vary: "Origin",
      };
    },
  };
}

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];
const WRONG_HOST =
  "The Host header is not a name of this server. Its operator can allow the name with --http-allowed-host.";
const WRONG_ORIGIN =
  "Pages of this Origin have no access. The operator of this server can allow it with --http-allowed-origin.";

// A name, an IPv4 address or an IPv6 address in brackets, with an optional port
const HOST_HEADER = /^(\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i;

/** Returns the name without the port: tunnels change the port, and DNS rebinding cannot choose the name. */
function parseHostHeader(header: string | undefined): string | undefined {
  return HOST_HEADER.exec(header ?? "")?.[1]?.toLowerCase();
}

/** Returns a name in the form of a Host header. */
function toHostName(host: string): string {
  return isIPv6(host) ? `[${host.toLowerCase()}]` : host.toLowerCase();
}
