import { isIP, type Socket } from "node:net";
import type { EgressPolicy } from "@budgie/core/egress";
import { createLookup } from "../dial/create-lookup.ts";
import { dialHost } from "../dial/dial-host.ts";
import { DEFAULT_EGRESS_LIMITS } from "../dial/egress-limits.ts";
import type { Lookup } from "../dial/resolver.ts";
import { createBoundedRouteFinder, type Route } from "../dial/route.ts";
import { parseUpstream, toAddress, type UpstreamOptions } from "../dial/parse-upstream.ts";
import { decide } from "../rules/decide.ts";
import { isAddressSpelling } from "../rules/normalize-host-name.ts";

export type ConnectorOptions = {
  /** The hosts that may be reached */
  readonly policy: EgressPolicy;
  /** URLs whose hosts and ports may be reached too; a URL with an IP address, or `localhost`, may thus name a private address */
  readonly urls: readonly string[];
  /** True if every port of this machine's loopback may be reached */
  readonly loopback: boolean;
  /** Default: the system's hosts file and name servers */
  readonly lookup?: Lookup | undefined;
  readonly upstream?: UpstreamOptions | undefined;
};

/** Connects to an allowed host; rejects with the reason for any other. */
export type Connector = (target: Target) => Promise<Socket>;

type Target = { readonly host: string; readonly port: number };

const LIMITS = DEFAULT_EGRESS_LIMITS;
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|::1)$/;

/** Creates a connector. A name is resolved once for each connection, which goes to the addresses that were checked. */
export function createConnector({ loopback, lookup, policy, upstream, urls }: ConnectorOptions): Connector {
  const named = urls.map(toTarget);
  const findRoute = createBoundedRouteFinder(lookup ?? createLookup(), upstream && parseUpstream(upstream), LIMITS);
  const hosts = [...policy.hosts, ...named.map((target) => ({ ...target, address: undefined, from: "a URL" }))];

  async function chooseRoute(target: Target): Promise<Route | string> {
    const { host, port } = target;
    const isNamed = named.some((one) => one.host === host && one.port === port);
    if (isNamed || (loopback && LOOPBACK.test(host))) {
      const addresses = findOwnAddresses(host);
      if (addresses.length > 0) return { ...target, addresses, upstream: undefined };
    }
    if (isAddressSpelling(host)) return "it is an address that nothing names";
    const decision = decide({ mode: policy.mode, hosts }, host, port);
    if (!decision.allowed) return decision.why;
    const route = await findRoute({ host, port, address: decision.address });
    return typeof route === "string" ? REASONS[route] : route;
  }

  return async (target) => {
    const route = await chooseRoute(target);
    if (typeof route === "string") throw new Error(`${target.host}:${target.port} may not be reached: ${route}`);
    const socket = await dialHost(route, LIMITS.dialMs);
    // A client's pool would keep a connection that its server has ended, and fail with it.
    socket.allowHalfOpen = false;
    return socket;
  };
}

const REASONS = {
  private: "its name resolves to no public address, and is not pinned to one",
  unknown: "its name could not be resolved",
};

function toTarget(url: string): Target {
  const { host, port } = toAddress(new URL(url));
  return { host: host.replace(/\.$/, ""), port };
}

/** Returns the addresses that a host's spelling itself means: an IP address, or `localhost`. */
function findOwnAddresses(host: string): Route["addresses"] {
  const addresses = host === "localhost" ? ["127.0.0.1", "::1"] : [host].filter((text) => isIP(text) !== 0);
  return addresses.map((address) => ({ address, family: isIP(address) }));
}
