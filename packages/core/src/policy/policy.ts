import {
  allowsHost,
  coversName,
  EGRESS_MODES,
  type AllowedHost,
  type EgressMode,
  type EgressPolicy,
} from "../egress.ts";
import type { BudgieError } from "../errors.ts";
import { narrowWorkspace, type WorkspaceAccess } from "../workspace-access.ts";

/** The limits of a process on the machine's resources. */
export type Limits = {
  readonly memoryBytes: number;
  readonly cpus: number;
  readonly pids: number;
  /** Limit of the session's home, including the data of earlier processes */
  readonly diskBytes: number;
  /** Size of `/tmp` in a sandbox, which takes memory */
  readonly tmpBytes: number;
};

/** The access of a process to the host. */
export type Access = {
  readonly workspace: WorkspaceAccess;
  readonly egress: EgressPolicy;
  /** The limits; the runner's own replace those that are missing, and the machine's those that are higher */
  readonly limits: Partial<Limits>;
};

/** The default access of a process in a sandbox: its workspace, and no network. */
export const DEFAULT_ACCESS: Access = { workspace: "rw", egress: { mode: "none", hosts: [] }, limits: {} };

/** The permissions of a turn: its access, and the time limit of one attempt. */
export type Policy = Access & { readonly timeoutMs: number };

/** The restrictions of an agent's section in the configuration, or of a call. Fields that are left out restrict nothing. */
export type Tightening = {
  readonly workspace?: Access["workspace"] | undefined;
  readonly egress?: EgressMode | undefined;
  /** The allow-list that replaces the policy's; only with `allowlist` */
  readonly allowedHosts?: readonly AllowedHost[] | undefined;
  readonly limits?: { readonly [Name in keyof Limits]?: Limits[Name] | undefined } | undefined;
  readonly timeoutMs?: number | undefined;
};

/** A requested value that exceeds the policy. */
export type Loosening = {
  readonly option: "workspace" | "egress" | "host" | "timeout" | "memory" | "cpus" | "pids" | "disk" | "tmp";
  /** The value in the units of {@link Tightening} */
  readonly asked: string | number;
  readonly most: string | number;
};

/** The default limits of a sandbox. */
export const DEFAULT_LIMITS: Limits = {
  memoryBytes: 4 * 1024 ** 3,
  cpus: 4,
  pids: 512,
  diskBytes: 10 * 1024 ** 3,
  tmpBytes: 512 * 1024 ** 2,
};

/** Returns the default limits of a sandbox on a machine with this number of processors, of which one is left to others than agents. */
export function chooseDefaultLimits(cpus: number): Limits {
  return { ...DEFAULT_LIMITS, cpus: Math.min(DEFAULT_LIMITS.cpus, Math.max(1, cpus - 1)) };
}

/** Lists the parts of an access that only a sandbox can enforce. */
export function listSandboxOnly({ egress, limits, workspace }: Access): readonly (keyof Access)[] {
  return [
    ...(workspace === "rw" ? [] : (["workspace"] as const)),
    ...(egress.mode === "bridge" ? [] : (["egress"] as const)),
    ...(Object.keys(limits).length > 0 ? (["limits"] as const) : []),
  ];
}

/** Returns the policy with these restrictions. A value that exceeds the policy is never reduced: the error from `refuse` is thrown. */
export function narrowPolicy(policy: Policy, wish: Tightening, refuse: (loosening: Loosening) => BudgieError): Policy {
  const choose = <Value extends string>(option: Loosening["option"], { asked, most, order }: Choice<Value>): Value => {
    if (asked === undefined) return most;
    if (order.indexOf(asked) > order.indexOf(most)) throw refuse({ option, asked, most });
    return asked;
  };
  const lower = (option: Loosening["option"], asked: number | undefined, most: number): number => {
    // Written so that NaN is rejected.
    if (asked !== undefined && !(asked <= most)) throw refuse({ option, asked, most });
    return asked ?? most;
  };
  const { cpus, diskBytes, memoryBytes, pids, tmpBytes } = wish.limits ?? {};
  const most = { ...DEFAULT_LIMITS, ...policy.limits };
  return {
    workspace: narrowAccess(policy, wish.workspace, refuse),
    egress: {
      mode: choose("egress", { asked: wish.egress, most: policy.egress.mode, order: EGRESS_MODES }),
      hosts: narrowHosts(policy.egress, wish.allowedHosts, refuse),
    },
    limits: {
      ...policy.limits,
      ...(memoryBytes === undefined ? {} : { memoryBytes: lower("memory", memoryBytes, most.memoryBytes) }),
      ...(cpus === undefined ? {} : { cpus: lower("cpus", cpus, most.cpus) }),
      ...(pids === undefined ? {} : { pids: lower("pids", pids, most.pids) }),
      ...(diskBytes === undefined ? {} : { diskBytes: lower("disk", diskBytes, most.diskBytes) }),
      ...(tmpBytes === undefined ? {} : { tmpBytes: lower("tmp", tmpBytes, most.tmpBytes) }),
    },
    timeoutMs: lower("timeout", wish.timeoutMs, policy.timeoutMs),
  };
}

function narrowAccess(
  { workspace: most }: Policy,
  asked: WorkspaceAccess | undefined,
  refuse: (loosening: Loosening) => BudgieError,
): WorkspaceAccess {
  if (asked === undefined) return most;
  const narrowed = narrowWorkspace(most, asked);
  if (narrowed === undefined) throw refuse({ option: "workspace", asked, most });
  return narrowed;
}

function narrowHosts(
  policy: EgressPolicy,
  asked: readonly AllowedHost[] | undefined,
  refuse: (loosening: Loosening) => BudgieError,
): readonly AllowedHost[] {
  const exceeding = asked?.find((host) => !allowsHost(policy, host));
  if (asked === undefined) return policy.hosts;
  if (exceeding === undefined) return [...asked, ...policy.hosts.filter((entry) => isException(entry, asked))];
  const most = policy.hosts.map(formatHost).join(", ") || "none";
  throw refuse({ option: "host", asked: formatHost(exceeding), most });
}

/** Returns true if an entry pins the address of a name that a requested wildcard covers. The name stays pinned. */
function isException({ address, host, port }: AllowedHost, asked: readonly AllowedHost[]): boolean {
  const atPort = asked.filter((wish) => wish.port === port);
  return (
    !atPort.some((wish) => wish.host === host) &&
    atPort.some((wish) => wish.address !== address && coversName(wish.host, host))
  );
}

function formatHost({ address, host, port }: AllowedHost): string {
  return `${host}:${port}${address === undefined ? "" : `=${address}`}`;
}

type Choice<Value extends string> = {
  readonly asked: Value | undefined;
  readonly most: Value;
  /** The values, the strictest first */
  readonly order: readonly Value[];
};

/** The tools whose downloads a cache can keep. */
export const CACHE_TOOLS = ["npm", "pip", "cargo", "go", "maven"] as const;

export type CacheTool = (typeof CACHE_TOOLS)[number];

/** A program beside a session's sandboxes, such as a database. */
export type Service = {
  /** The host name at which sandboxes reach it */
  readonly name: string;
  /** The TCP port on which it listens, and at which sandboxes reach it */
  readonly port: number;
  readonly image: string;
  /** Its environment variables besides the image's; everybody with access to the engine can read them */
  readonly env: Readonly<Record<string, string>>;
  /** Replaces the image's command, behind its entrypoint */
  readonly command?: readonly string[] | undefined;
  /** The command in its container that succeeds once it can be used; default: it is not waited for */
  readonly ready?: readonly string[] | undefined;
};
