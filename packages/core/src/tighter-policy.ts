import type { BudgieError } from "./errors.ts";
import type { Access, Limits } from "./runner.ts";

/** What a turn may do: what it may use, and how long one try of it may take. */
export type Policy = Access & { readonly timeoutMs: number };

/** What an agent's section of a configuration or a call asks for; what is left out stays as it is. */
export type Tightening = {
  readonly workspace?: Access["workspace"] | undefined;
  readonly network?: Access["network"] | undefined;
  readonly limits?: { readonly [Name in keyof Limits]?: Limits[Name] | undefined } | undefined;
  readonly timeoutMs?: number | undefined;
};

/** A wish for more than is allowed. */
export type Loosening = {
  readonly option: "workspace" | "network" | "timeout" | "memory" | "cpus" | "pids";
  /** As {@link Tightening} has it */
  readonly asked: string | number;
  readonly most: string | number;
};

/** What a sandbox gets of the machine unless something says less. */
export const DEFAULT_LIMITS: Limits = { memoryBytes: 4 * 1024 ** 3, cpus: 4, pids: 1024 };

/** What of an access only a sandbox can hold an agent to. */
export function toWalls({ limits, network, workspace }: Access): readonly (keyof Access)[] {
  return [
    ...(workspace === "ro" ? (["workspace"] as const) : []),
    ...(network === "none" ? (["network"] as const) : []),
    ...(Object.keys(limits).length > 0 ? (["limits"] as const) : []),
  ];
}

/** The policy that this one becomes: as tight or tighter. A wish for more is never cut to size, but thrown as what `refuse` makes of it. */
export function toTighterPolicy(
  policy: Policy,
  wish: Tightening,
  refuse: (loosening: Loosening) => BudgieError,
): Policy {
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
  const { cpus, memoryBytes, pids } = wish.limits ?? {};
  const most = { ...DEFAULT_LIMITS, ...policy.limits };
  return {
    workspace: choose("workspace", { asked: wish.workspace, most: policy.workspace, order: ["ro", "rw"] }),
    network: choose("network", { asked: wish.network, most: policy.network, order: ["none", "open"] }),
    limits: {
      ...policy.limits,
      ...(memoryBytes === undefined ? {} : { memoryBytes: lower("memory", memoryBytes, most.memoryBytes) }),
      ...(cpus === undefined ? {} : { cpus: lower("cpus", cpus, most.cpus) }),
      ...(pids === undefined ? {} : { pids: lower("pids", pids, most.pids) }),
    },
    timeoutMs: lower("timeout", wish.timeoutMs, policy.timeoutMs),
  };
}

type Choice<Value extends string> = {
  readonly asked: Value | undefined;
  readonly most: Value;
  /** The tightest first */
  readonly order: readonly Value[];
};
