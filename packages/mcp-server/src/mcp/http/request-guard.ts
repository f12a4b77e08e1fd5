import type { IncomingMessage } from "node:http";
import { isIPv6 } from "node:net";
import type { Refusal } from "./http-response.ts";

/** Says whom a request comes from, as far as its headers tell. */
export type RequestGuard = {
  /** Why a request must not be answered; `undefined` if it may be */
  readonly check: (request: IncomingMessage) => Refusal | undefined;
  /** What a page of an allowed origin needs to read the answer; nothing for all else */
  readonly toCorsHeaders: (request: IncomingMessage) => Readonly<Record<string, string>>;
};

export type RequestGuardOptions = {
  /** What the server listens on */
  readonly host: string;
  readonly allowedHosts: readonly string[];
  /** Such as `https://example.com` */
  readonly allowedOrigins: readonly string[];
};

/** Creates the guard against pages of a browser that make requests in its user's name, or that had a name lead here. */
export function createRequestGuard({ allowedHosts, allowedOrigins, host }: RequestGuardOptions): RequestGuard {
  const names = new Set([...LOOPBACK, toHostName(host), ...allowedHosts.map(toHostName)]);
  // As a browser writes them: in small letters, and without the port that goes without saying.
  const origins = new Set(allowedOrigins.map((origin) => new URL(origin).origin));

  return {
    check({ headers }) {
      const name = parseHostHeader(headers.host);
      if (name === undefined || !names.has(name)) return { status: 403, message: WRONG_HOST };
      const { origin } = headers;
      // A page that budgie itself served, which it never does, or a program that says where it connects to.
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
  "This is not a name of this server. Whoever runs it can allow the name in the Host header by --http-allowed-host.";
const WRONG_ORIGIN =
  "Pages of this origin have no access. Whoever runs this server can allow the Origin by --http-allowed-origin.";

// A name, an IPv4 address or an IPv6 one in brackets, and perhaps a port.
const HOST_HEADER = /^(\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i;

/** Whatever the port: with a tunnel it is another, and who rebinds a name cannot choose the name. */
function parseHostHeader(header: string | undefined): string | undefined {
  return HOST_HEADER.exec(header ?? "")?.[1]?.toLowerCase();
}

/** A name as it is in a Host header. */
function toHostName(host: string): string {
  return isIPv6(host) ? `[${host.toLowerCase()}]` : host.toLowerCase();
}
