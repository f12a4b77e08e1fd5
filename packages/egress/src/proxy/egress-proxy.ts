import { createSessionProxy, type SessionProxy } from "./session-proxy.ts";
import { DEFAULT_EGRESS_LIMITS, type EgressLimits } from "../dial/egress-limits.ts";
import { createLookup } from "../dial/create-lookup.ts";
import type { Lookup } from "../dial/resolver.ts";
import { createBoundedRouteFinder, type RouteFinder } from "../dial/route.ts";
import { parseUpstream, type UpstreamOptions } from "../dial/parse-upstream.ts";

/** The proxy that enforces sessions' egress policies. Each session has a unix socket with a policy and a log of its own. */
export interface EgressProxy {
  open(place: { readonly socketPath: string }): Promise<SessionProxy>;
  /** Closes the proxies of all sessions and their connections. */
  close(): Promise<void>;
}

export type EgressProxyOptions = {
  /** Default: the system's hosts file and name servers */
  readonly lookup?: Lookup;
  readonly upstream?: UpstreamOptions;
  readonly limits?: Partial<EgressLimits>;
};

/** Creates the proxy in this process. */
export function createEgressProxy(options: EgressProxyOptions = {}): EgressProxy {
  const limits = { ...DEFAULT_EGRESS_LIMITS, ...options.limits };
  const upstream = options.upstream && parseUpstream(options.upstream);
  const lookup = options.lookup ?? createLookup();
  const sessions = new Set<SessionProxy>();
  return {
    open: async ({ socketPath }) => {
      // A limit for each policy of each session: names that never answer delay neither other sessions nor the next turn.
      const createFinder = (): RouteFinder => createBoundedRouteFinder(lookup, upstream, limits);
      let find = createFinder();
      const findRoute: RouteFinder = (target) => find(target);
      const session = await createSessionProxy(socketPath, { limits, findRoute });
      sessions.add(session);
      return {
        ...session,
        setPolicy: async (policy) => {
          find = createFinder();
          await session.setPolicy(policy);
        },
        close: async () => {
          sessions.delete(session);
          await session.close();
        },
      };
    },
    close: async () => {
      await Promise.all([...sessions].map((session) => session.close()));
      sessions.clear();
    },
  };
}
