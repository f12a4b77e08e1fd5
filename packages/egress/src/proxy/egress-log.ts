import type { EgressCount, EgressDenial, EgressReport } from "@budgie/core/egress";

/** The host in a report, with port 0, that counts the hosts beyond its size limit. */
export const OTHER_HOSTS = "(others)";

const MAX_ENTRIES = 200;

/** The log of one session's requests. */
export type EgressLog = {
  readonly allow: (host: string, port: number) => void;
  readonly deny: (host: string, port: number, why: string) => void;
  /** Returns and clears the entries since the last call */
  readonly take: () => EgressReport;
};

/** Creates a log that counts allowed and denied requests by host and port only, in bounded memory. */
export function createEgressLog(): EgressLog {
  let allowed = new Map<string, EgressCount>();
  let denied = new Map<string, EgressDenial>();
  return {
    allow: (host, port) => count(allowed, { host, port, count: 1 }, { host: OTHER_HOSTS, port: 0, count: 1 }),
    deny: (host, port, why) =>
      count(denied, { host, port, why, count: 1 }, { host: OTHER_HOSTS, port: 0, why: "various", count: 1 }),
    take: () => {
      const report = { allowed: [...allowed.values()], denied: [...denied.values()] };
      allowed = new Map();
      denied = new Map();
      return report;
    },
  };
}

function count<Entry extends EgressCount & { readonly why?: string }>(
  entries: Map<string, Entry>,
  entry: Entry,
  others: Entry,
): void {
  const key = toKey(entry);
  const fits = entries.has(key) || entries.size < MAX_ENTRIES;
  const counted = fits ? entry : others;
  const before = entries.get(toKey(counted));
  entries.set(toKey(counted), { ...counted, count: (before?.count ?? 0) + 1 });
}

function toKey({ host, port, why = "" }: EgressCount & { readonly why?: string }): string {
  return `${host} ${port} ${why}`;
}
