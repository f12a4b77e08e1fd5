import { isIP } from "node:net";
import type { EgressLimits } from "./limits.ts";
import { isPublicAddress } from "../rules/is-public-address.ts";
import type { Lookup, ResolvedAddress } from "./resolver.ts";
import type { Upstream } from "./upstream.ts";

/** A way to a host: its checked addresses, or the proxy that finds the way itself. */
export type Route = {
  readonly host: string;
  readonly port: number;
  readonly addresses: readonly ResolvedAddress[];
  readonly upstream: Upstream | undefined;
};

export type RouteFinder = (target: {
  readonly host: string;
  readonly port: number;
  readonly address: string | undefined;
}) => Promise<Route | "unknown" | "private">;

// Far more than a service has. Each is compared with this machine's, and the owner of a name may have it lead to thousands.
const MOST_ADDRESSES = 256;

/**
 * Finds ways to hosts. A pinned address is taken as it is. Of what a name resolves to, only public addresses are used; where
 * a proxy does the resolving, a name must not resolve to any other here, if it resolves here at all.
 */
export function createRouteFinder(lookup: Lookup, upstream: Upstream | undefined, limits: EgressLimits): RouteFinder {
  return async ({ address, host, port }) => {
    if (address !== undefined) {
      return { host, port, addresses: [{ address, family: isIP(address) }], upstream: undefined };
    }
    const through = upstream?.skips(host, port) === false ? upstream : undefined;
    const resolved = await withTimeout(lookup(host), limits.dialMs).catch(() => []);
    if (resolved.length > MOST_ADDRESSES) return "unknown";
    const open = resolved.filter((candidate) => isPublicAddress(candidate.address));
    if (through) return open.length < resolved.length ? "private" : { host, port, addresses: [], upstream: through };
    if (resolved.length === 0) return "unknown";
    return open.length === 0 ? "private" : { host, port, addresses: open, upstream: undefined };
  };
}

async function withTimeout<Value>(promise: Promise<Value>, timeoutMs: number): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("No answer in time.")), timeoutMs);
  });
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}
