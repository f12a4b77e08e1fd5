import { isAddressSpelling, toHostName } from "../rules/host-name.ts";
import { toShown } from "./refusal.ts";

/** Where a request wants to go. */
export type Target = { readonly host: string; readonly port: number };

/** What is no target that policy could be asked about, as it may be shown, and why. */
export type NoTarget = { readonly shown: string; readonly why: string };

const HTTP_PORT = 80;

/** The target of a CONNECT: `host:port`, and nothing else. */
export function parseAuthority(authority: string): Target | NoTarget {
  return toTarget(authority, undefined);
}

/** The target and the path of a request to a proxy; of one in a tunnel, the path alone is in it. */
export function parseRequestUrl(
  url: string,
  tunnel: Target | undefined,
): (Target & { readonly path: string }) | NoTarget {
  if (tunnel) return url.startsWith("/") ? { ...tunnel, path: url } : { shown: toShown(url), why: "that is no path" };
  const [, authority, rest = ""] = /^http:\/\/([^/?#]*)([/?].*)?$/i.exec(url) ?? [];
  if (authority === undefined) return { shown: "what it asked for", why: "that is no request for a proxy" };
  const target = toTarget(authority, HTTP_PORT);
  return "why" in target ? target : { ...target, path: rest.startsWith("/") ? rest : `/${rest}` };
}

/** Whether a `Host` header names the same target as the request itself. */
export function isSameTarget(header: string, { host, port }: Target): boolean {
  const named = toTarget(header, HTTP_PORT);
  return !("why" in named) && named.host === host && named.port === port;
}

function toTarget(authority: string, defaultPort: number | undefined): Target | NoTarget {
  const [, name = authority, digits] = /^(.*?)(?::(\d{1,5}))?$/s.exec(authority) ?? [];
  const shown = toShown(authority);
  if (isAddressSpelling(name)) return { shown, why: "it is an address, and only names can be allowed" };
  const host = toHostName(name);
  const port = digits === undefined ? defaultPort : Number(digits);
  if (host === undefined || port === undefined || port < 1 || port > 65_535)
    return { shown, why: "that is no host and port" };
  return { host, port };
}
