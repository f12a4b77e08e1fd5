import type { EgressCount, EgressDenial, EgressReport } from "@budgie/core/egress";

/** The host in a report, with port 0, that counts the hosts beyond its size limit. */
const OTHER_HOSTS = "(others)";

const MAX_ENTRIES = 200;

/** The log of one session's requests. */
export type EgressLog = {
  readonly allow: (host: string, port: number) => void;
  readonly deny: (host: string, port: number, why: string) => void;
  /** Counts an allowed request whose host could not be reached */
  readonly fail: (target: Pick<EgressCount, "host" | "port">, error: Error) => void;
  /** Returns and clears the entries since the last call */
  readonly take: () => EgressReport;
};

/** Creates a log that counts requests by host and port only, in bounded memory. */
export function createEgressLog(): EgressLog {
  let allowed = new Map<string, EgressCount>();
  let denied = new Map<string, EgressDenial>();
  let failed = new Map<string, EgressDenial>();
  const others = { host: OTHER_HOSTS, port: 0, count: 1 } as const;
  const countWhy = (entries: Map<string, EgressDenial>, one: Omit<EgressDenial, "count">): void =>
    count(entries, { ...one, count: 1 }, { ...others, why: "various" });
  return {
    allow: (host, port) => count(allowed, { host, port, count: 1 }, others),
    deny: (host, port, why) => countWhy(denied, { host, port, why }),
    fail: ({ host, port }, error) => countWhy(failed, { host, port, why: toFailure(error) }),
    take: () => {
      const report = {
        allowed: [...allowed.values()],
        denied: [...denied.values()],
        ...(failed.size === 0 ? {} : { failed: [...failed.values()] }),
      };
      allowed = new Map();
      denied = new Map();
      failed = new Map();
      return report;
    },
  };
}

/** Returns a system's code, such as `ECONNREFUSED`, or else the message. */
export function toFailure(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : error.message;
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
