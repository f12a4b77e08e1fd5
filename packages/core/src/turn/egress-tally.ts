import type { EgressCount, EgressDenial, EgressReport } from "../egress.ts";

/** The sum of the network access of a turn's processes. */
export type EgressTally = {
  readonly add: (report: Promise<EgressReport | undefined> | undefined) => void;
  /** Resolves when all processes have ended; to `undefined` if none was monitored */
  readonly total: () => Promise<EgressReport | undefined>;
};

// As in a proxy's own log: an agent may ask for as many names as it likes.
const MOST_ENTRIES = 200;
const OTHERS = { host: "(others)", port: 0 } as const;

/** Creates an empty sum. */
export function createEgressTally(): EgressTally {
  const pending = new Set<Promise<void>>();
  const allowed = new Map<string, EgressCount>();
  const [denied, failed] = [new Map<string, EgressDenial>(), new Map<string, EgressDenial>()];
  let isMonitored = false;
  return {
    add(report) {
      if (report === undefined) return;
      const added: Promise<void> = report.then((since) => {
        pending.delete(added);
        if (since === undefined) return;
        isMonitored = true;
        for (const one of since.allowed) addTo(allowed, one);
        for (const one of since.denied) addTo(denied, one);
        for (const one of since.failed ?? []) addTo(failed, one);
      });
      // `total` rejects too; this only avoids an unhandled rejection before it is called.
      added.catch(() => undefined);
      pending.add(added);
    },
    async total() {
      await Promise.all(pending);
      if (!isMonitored) return undefined;
      return {
        allowed: [...allowed.values()],
        denied: [...denied.values()],
        ...(failed.size === 0 ? {} : { failed: [...failed.values()] }),
      };
    },
  };
}

/** Adds a count to the sum of its host, port and reason, or to the sum of all others of the reason if there are too many. */
function addTo<Count extends EgressCount & { readonly why?: string }>(sums: Map<string, Count>, one: Count): void {
  const counted = sums.has(toKey(one)) || sums.size < MOST_ENTRIES ? one : { ...one, ...OTHERS };
  sums.set(toKey(counted), { ...counted, count: one.count + (sums.get(toKey(counted))?.count ?? 0) });
}

function toKey({ host, port, why = "" }: EgressCount & { readonly why?: string }): string {
  return `${host} ${port} ${why}`;
}
