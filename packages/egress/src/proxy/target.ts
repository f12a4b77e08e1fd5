import { isAddressSpelling, normalizeHostName } from "../rules/normalize-host-name.ts";
import { printableText } from "./refusal.ts";

/** The destination of a request. */
export type Target = { readonly host: string; readonly port: number };

/** A destination that no policy can decide on, in printable form, and the reason. */
export type InvalidTarget = { readonly printable: string; readonly why: string };

const HTTP_PORT = 80;

/** Parses the target of a CONNECT, which must be `host:port`. */
export function parseAuthority(authority: string): Target | InvalidTarget {
  return parseTarget(authority, undefined);
}

/** Parses the URL of a request to a proxy, or the path of a request in a tunnel. */
export function parseRequestUrl(
  url: string,
  tunnel: Target | undefined,
): (Target & { readonly path: string }) | InvalidTarget {
  if (tunnel)
    return url.startsWith("/") ? { ...tunnel, path: url } : { printable: printableText(url), why: "it is not a path" };
  const [, authority, rest = ""] = /^http:\/\/([^/?#]*)([/?].*)?$/i.exec(url) ?? [];
  if (authority === undefined) return { printable: "what it asked for", why: "it is not a proxy request" };
  const target = parseTarget(authority, HTTP_PORT);
  return "why" in target ? target : { ...target, path: rest.startsWith("/") ? rest : `/${rest}` };
}

/** Returns true if a `Host` header names the same target as the request line. */
export function isSameTarget(header: string, { host, port }: Target): boolean {
  const named = parseTarget(header, HTTP_PORT);
  return !("why" in named) && named.host === host && named.port === port;
}

function parseTarget(authority: string, defaultPort: number | undefined): Target | InvalidTarget {
  const [, name = authority, digits] = /^(.*?)(?::(\d{1,5}))?$/s.exec(authority) ?? [];
  const printable = printableText(authority);
  if (isAddressSpelling(name)) return { printable, why: "it is an address, and only names can be allowed" };
  const host = normalizeHostName(name);
  const port = digits === undefined ? defaultPort : Number(digits);
  if (host === undefined || port === undefined || port < 1 || port > 65_535)
    return { printable, why: "it is not a host and port" };
  return { host, port };
}
