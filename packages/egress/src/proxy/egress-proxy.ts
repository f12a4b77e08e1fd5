import { createSessionProxy, type SessionProxy } from "./session-proxy.ts";
import { DEFAULT_EGRESS_LIMITS, type EgressLimits } from "../dial/limits.ts";
import { createLookup } from "../dial/create-lookup.ts";
import { createResolver, type Lookup } from "../dial/resolver.ts";
import { createRouteFinder, type RouteFinder } from "../dial/route.ts";
import { parseUpstream, type UpstreamOptions } from "../dial/upstream.ts";

/** Keeps sessions to their egress policies: each has a door, which is a unix socket with a policy and a log of its own. */
export interface EgressProxy {
  open(place: { readonly socketPath: string }): Promise<SessionProxy>;
  /** Closes all doors, and cuts what still goes through them. */
  close(): Promise<void>;
}

export type EgressProxyOptions = {
  /** Default a lookup by the system's hosts file and name servers */
  readonly lookup?: Lookup;
  readonly upstream?: UpstreamOptions;
  readonly limits?: Partial<EgressLimits>;
};

// So many that a few names without an answer do not delay the model's.
const MOST_NAMES = 4;

/** The proxy in this process. */
export function createEgressProxy(options: EgressProxyOptions = {}): EgressProxy {
  const limits = { ...DEFAULT_EGRESS_LIMITS, ...options.limits };
  const upstream = options.upstream && parseUpstream(options.upstream);
  const lookup = options.lookup ?? createLookup();
  const sessions = new Set<SessionProxy>();
  return {
    open: async ({ socketPath }) => {
      // Limited for each turn at each door, so that names which never answer delay no other session.
      const createFinder = (): RouteFinder =>
        createRouteFinder(createResolver(lookup, { most: MOST_NAMES, waitMs: limits.dialMs }), upstream, limits);
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
