import { isIP } from "node:net";
import type { EgressLimits } from "./egress-limits.ts";
import { isPublicAddress } from "../rules/is-public-address.ts";
import { createResolver, type Lookup, type ResolvedAddress } from "./resolver.ts";
import type { Upstream } from "./parse-upstream.ts";

/** A route to a host: its checked addresses, or the upstream proxy that resolves its name. */
export type Route = {
  readonly host: string;
  readonly port: number;
  readonly addresses: readonly ResolvedAddress[];
  readonly upstream: Upstream | undefined;
};

/** Finds the route to a host: `unknown` if its name does not resolve, `private` if it resolves to private addresses only. */
export type RouteFinder = (target: {
  readonly host: string;
  readonly port: number;
  readonly address: string | undefined;
}) => Promise<Route | "unknown" | "private">;

// Far more than any service has. The owner of a name may let it resolve to thousands, and each is compared with all interfaces.
const MAX_ADDRESSES = 256;
// Enough that a few names without an answer do not delay the lookup of the model's host.
const MAX_NAMES = 4;

/** Creates a route finder that looks up a few names at once. */
export function createBoundedRouteFinder(
  lookup: Lookup,
  upstream: Upstream | undefined,
  limits: EgressLimits,
): RouteFinder {
  return createRouteFinder(createResolver(lookup, { most: MAX_NAMES, waitMs: limits.dialMs }), upstream, limits);
}

/**
 * Creates a route finder. A pinned address is used as it is. A name that resolves is routed to its public addresses only. If an upstream
 * proxy resolves names, a name that also resolves here must not have a private address here.
 */
export function createRouteFinder(lookup: Lookup, upstream: Upstream | undefined, limits: EgressLimits): RouteFinder {
  return async ({ address, host, port }) => {
    if (address !== undefined) {
      return { host, port, addresses: [{ address, family: isIP(address) }], upstream: undefined };
    }
    const proxy = upstream?.skips(host, port) === false ? upstream : undefined;
    const resolved = await withTimeout(lookup(host), limits.dialMs).catch(() => []);
    if (resolved.length > MAX_ADDRESSES) return "unknown";
    const reachable = resolved.filter((candidate) => isPublicAddress(candidate.address));
    if (proxy) return reachable.length < resolved.length ? "private" : { host, port, addresses: [], upstream: proxy };
    if (resolved.length === 0) return "unknown";
    return reachable.length === 0 ? "private" : { host, port, addresses: reachable, upstream: undefined };
  };
}

async function withTimeout<Value>(promise: Promise<Value>, timeoutMs: number): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("The name servers did not answer before the timeout.")), timeoutMs);
  });
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}
