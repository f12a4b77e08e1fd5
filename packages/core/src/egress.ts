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

/** Whether a policy lets every name of this entry be reached, at the address it is pinned to if it is. */
export function allowsHost({ hosts, mode }: EgressPolicy, { address, host, port }: AllowedHost): boolean {
  if (mode === "bridge" || (mode === "open" && address === undefined)) return true;
  if (mode === "none") return false;
  return hosts.some((entry) => entry.port === port && entry.address === address && coversName(entry.host, host));
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
