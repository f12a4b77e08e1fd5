import {
  allowsHost,
  coversName,
  EGRESS_MODES,
  type AllowedHost,
  type EgressMode,
  type EgressPolicy,
} from "../egress.ts";
import type { BudgieError } from "../errors.ts";

/** What a process may use of the machine. */
export type Limits = {
  readonly memoryBytes: number;
  readonly cpus: number;
  readonly pids: number;
  /** Limit of the session's home, including the data of earlier processes */
  readonly diskBytes: number;
};

/** What a process may use of the host. */
export type Access = {
  /** Whether it may write to its workspace */
  readonly workspace: "ro" | "rw";
  readonly egress: EgressPolicy;
  /** What is left out, and what is more than the runner gives, is the runner's own */
  readonly limits: Partial<Limits>;
};

/** What a turn may do: what it may use, and how long one try of it may take. */
export type Policy = Access & { readonly timeoutMs: number };

/** What an agent's section of a configuration or a call asks for; what is left out stays as it is. */
export type Tightening = {
  readonly workspace?: Access["workspace"] | undefined;
  readonly egress?: EgressMode | undefined;
  /** All that may be reached, in place of the list that there is; only with `allowlist` */
  readonly allowedHosts?: readonly AllowedHost[] | undefined;
  readonly limits?: { readonly [Name in keyof Limits]?: Limits[Name] | undefined } | undefined;
  readonly timeoutMs?: number | undefined;
};

/** A wish for more than is allowed. */
export type Loosening = {
  readonly option: "workspace" | "egress" | "host" | "timeout" | "memory" | "cpus" | "pids" | "disk";
  /** As {@link Tightening} has it */
  readonly asked: string | number;
  readonly most: string | number;
};

/** What a sandbox gets of the machine unless something says less. */
export const DEFAULT_LIMITS: Limits = { memoryBytes: 4 * 1024 ** 3, cpus: 4, pids: 1024, diskBytes: 10 * 1024 ** 3 };

/** What of an access only a sandbox can hold an agent to. */
export function listSandboxOnly({ egress, limits, workspace }: Access): readonly (keyof Access)[] {
  return [
    ...(workspace === "ro" ? (["workspace"] as const) : []),
    ...(egress.mode === "bridge" ? [] : (["egress"] as const)),
    ...(Object.keys(limits).length > 0 ? (["limits"] as const) : []),
  ];
}

/** The policy that this one becomes: as tight or tighter. A wish for more is never cut to size, but thrown as what `refuse` makes of it. */
export function narrowPolicy(policy: Policy, wish: Tightening, refuse: (loosening: Loosening) => BudgieError): Policy {
  const choose = <Value extends string>(option: Loosening["option"], { asked, most, order }: Choice<Value>): Value => {
    if (asked === undefined) return most;
    if (order.indexOf(asked) > order.indexOf(most)) throw refuse({ option, asked, most });
    return asked;
  };
  const lower = (option: Loosening["option"], asked: number | undefined, most: number): number => {
    // Not a number must not count as less.
    if (asked !== undefined && !(asked <= most)) throw refuse({ option, asked, most });
    return asked ?? most;
  };
  const { cpus, diskBytes, memoryBytes, pids } = wish.limits ?? {};
  const most = { ...DEFAULT_LIMITS, ...policy.limits };
  return {
    workspace: choose("workspace", { asked: wish.workspace, most: policy.workspace, order: ["ro", "rw"] }),
    egress: {
      mode: choose("egress", { asked: wish.egress, most: policy.egress.mode, order: EGRESS_MODES }),
      hosts: toFewerHosts(policy.egress, wish.allowedHosts, refuse),
    },
    limits: {
      ...policy.limits,
      ...(memoryBytes === undefined ? {} : { memoryBytes: lower("memory", memoryBytes, most.memoryBytes) }),
      ...(cpus === undefined ? {} : { cpus: lower("cpus", cpus, most.cpus) }),
      ...(pids === undefined ? {} : { pids: lower("pids", pids, most.pids) }),
      ...(diskBytes === undefined ? {} : { diskBytes: lower("disk", diskBytes, most.diskBytes) }),
    },
    timeoutMs: lower("timeout", wish.timeoutMs, policy.timeoutMs),
  };
}

function toFewerHosts(
  policy: EgressPolicy,
  asked: readonly AllowedHost[] | undefined,
  refuse: (loosening: Loosening) => BudgieError,
): readonly AllowedHost[] {
  const stranger = asked?.find((host) => !allowsHost(policy, host));
  if (asked === undefined) return policy.hosts;
  if (stranger === undefined) return [...asked, ...policy.hosts.filter((entry) => isException(entry, asked))];
  const most = policy.hosts.map(toHostText).join(", ") || "none";
  throw refuse({ option: "host", asked: toHostText(stranger), most });
}

/** A name below a wildcard that was asked for stays where the list that there is sends it. */
function isException({ address, host, port }: AllowedHost, asked: readonly AllowedHost[]): boolean {
  const atPort = asked.filter((wish) => wish.port === port);
  return (
    !atPort.some((wish) => wish.host === host) &&
    atPort.some((wish) => wish.address !== address && coversName(wish.host, host))
  );
}

function toHostText({ address, host, port }: AllowedHost): string {
  return `${host}:${port}${address === undefined ? "" : `=${address}`}`;
}

type Choice<Value extends string> = {
  readonly asked: Value | undefined;
  readonly most: Value;
  /** The tightest first */
  readonly order: readonly Value[];
};
