/** How far a process may reach, the tightest first. `bridge` is the runner's plain network, which nobody watches. */
export const EGRESS_MODES = ["none", "allowlist", "open", "bridge"] as const;

export type EgressMode = (typeof EGRESS_MODES)[number];

/** What a process may reach of the network. */
export type EgressPolicy = {
  readonly mode: EgressMode;
  /** What `allowlist` allows, and the pinned addresses of both `allowlist` and `open` */
  readonly hosts: readonly AllowedHost[];
};

/** A name on an allow-list. */
export type AllowedHost = {
  /** In lower case, without a trailing dot; `*.example.com` stands for every name below `example.com`, not for itself */
  readonly host: string;
  readonly port: number;
  /** Dialled in place of what the name resolves to: the only way to a private address */
  readonly address: string | undefined;
  /** Where the entry came from, such as `--allow-host` or `preset kiro` */
  readonly from: string;
};

/** Whether all that `host` stands for, itself a wildcard or not, is a name that `pattern` stands for. */
export function coversName(pattern: string, host: string): boolean {
  return (
    pattern === host || (pattern.startsWith("*.") && host.length >= pattern.length && host.endsWith(pattern.slice(1)))
  );
}

/** The entry that decides about a host and a port: of those that cover it, the one that names it most exactly. */
export function findEntry(
  hosts: readonly AllowedHost[],
  { host, port }: Pick<AllowedHost, "host" | "port">,
): AllowedHost | undefined {
  return hosts.filter((entry) => entry.port === port && coversName(entry.host, host)).toSorted(byExactness)[0];
}

/** Whether a policy lets every name of this entry be reached, at the address where the policy itself would have it. */
export function allowsHost({ hosts, mode }: EgressPolicy, asked: AllowedHost): boolean {
  if (mode === "bridge" || mode === "none") return mode === "bridge";
  const entry = findEntry(hosts, asked);
  return entry === undefined ? mode === "open" && asked.address === undefined : entry.address === asked.address;
}

function byExactness(a: AllowedHost, b: AllowedHost): number {
  const wildcards = Number(a.host.startsWith("*.")) - Number(b.host.startsWith("*."));
  return wildcards === 0 ? b.host.length - a.host.length : wildcards;
}

/** What a process reached, and what it was refused. */
export type EgressReport = {
  readonly allowed: readonly EgressCount[];
  readonly denied: readonly EgressDenial[];
};

/** How often a host was asked for. */
export type EgressCount = {
  readonly host: string;
  readonly port: number;
  readonly count: number;
};

export type EgressDenial = EgressCount & {
  /** Such as `not on the allow-list` */
  readonly why: string;
};
