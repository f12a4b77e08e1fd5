/** The egress modes, the strictest first. `bridge` is the runner's plain network, which is not monitored. */
export const EGRESS_MODES = ["none", "allowlist", "open", "bridge"] as const;

export type EgressMode = (typeof EGRESS_MODES)[number];

/** The network access that a process is allowed. */
export type EgressPolicy = {
  readonly mode: EgressMode;
  /** The hosts that `allowlist` allows, and the pinned addresses of both `allowlist` and `open` */
  readonly hosts: readonly AllowedHost[];
};

/** An entry of an allow-list. */
export type AllowedHost = {
  /** The name in lower case, without a trailing dot; `*.example.com` matches every name below `example.com`, but not `example.com` */
  readonly host: string;
  readonly port: number;
  /** The address to connect to instead of the one that the name resolves to: the only way to reach a private address */
  readonly address: string | undefined;
  /** The origin of the entry, such as `--allow-host` or `preset kiro` */
  readonly from: string;
};

/** Returns true if `pattern` matches every name that `host` matches. Both may be wildcards. */
export function coversName(pattern: string, host: string): boolean {
  return (
    pattern === host || (pattern.startsWith("*.") && host.length >= pattern.length && host.endsWith(pattern.slice(1)))
  );
}

/** Finds the most specific entry that matches a host and a port. */
export function findEntry(
  hosts: readonly AllowedHost[],
  { host, port }: Pick<AllowedHost, "host" | "port">,
): AllowedHost | undefined {
  return hosts.filter((entry) => entry.port === port && coversName(entry.host, host)).toSorted(byExactness)[0];
}

/** Returns true if a policy allows every name of an entry, at the same address as the policy's own entry. */
export function allowsHost({ hosts, mode }: EgressPolicy, asked: AllowedHost): boolean {
  if (mode === "bridge" || mode === "none") return mode === "bridge";
  const entry = findEntry(hosts, asked);
  return entry === undefined ? mode === "open" && asked.address === undefined : entry.address === asked.address;
}

function byExactness(a: AllowedHost, b: AllowedHost): number {
  const wildcards = Number(a.host.startsWith("*.")) - Number(b.host.startsWith("*."));
  return wildcards === 0 ? b.host.length - a.host.length : wildcards;
}

/** The hosts that a process reached, and those that it was denied. */
export type EgressReport = {
  readonly allowed: readonly EgressCount[];
  readonly denied: readonly EgressDenial[];
  /** The connections of `allowed` that failed, with reasons such as `ECONNREFUSED`; left out if there were none */
  readonly failed?: readonly EgressDenial[];
};

/** The number of connections to a host. */
export type EgressCount = {
  readonly host: string;
  readonly port: number;
  readonly count: number;
};

/** Returns a host and its port for a message; what names none is counted with port 0, and comes as it was asked for. */
export function formatTarget({ host, port }: Pick<EgressCount, "host" | "port">): string {
  return port === 0 ? host : `${host}:${port}`;
}

export type EgressDenial = EgressCount & {
  /** The reason, such as `not on the allow-list` or {@link KNOWN_TELEMETRY} */
  readonly why: string;
};

/** The reason for a denial that no program needs lifted, since the host only takes its vendor's statistics. */
export const KNOWN_TELEMETRY = "known telemetry";

/** The reason for a failed connection to a server whose certificate the program in the sandbox did not accept. */
export const CERTIFICATE_REFUSED = "the program did not accept its certificate";
