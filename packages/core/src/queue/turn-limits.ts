import type { Capacity } from "../runner/runner.ts";

/** The limits on simultaneous turns. */
export type TurnLimits = {
  /** The number of running turns, of all agents together */
  readonly concurrent: number;
  /** The number of waiting turns */
  readonly queued: number;
  /** The number of running turns of one agent, by its name */
  readonly agents: ReadonlyMap<string, number>;
};

/** The limits that the user has set. */
export type LimitWishes = { readonly [Limit in keyof TurnLimits]?: TurnLimits[Limit] | undefined };

/** The default number of waiting turns. */
export const DEFAULT_MAX_QUEUED = 256;

/** Fills in the default limits. By default as many turns run as the machine is expected to handle. */
export function fillLimits(wishes: LimitWishes, capacity: Capacity): TurnLimits {
  const { agents = new Map(), concurrent = chooseConcurrency(capacity), queued = DEFAULT_MAX_QUEUED } = wishes;
  return { agents, concurrent, queued };
}

/** The expected memory of a turn that builds and tests. Agents mostly wait for their model, so a core can run two turns. */
const BYTES_PER_TURN = 2 ** 30;

function chooseConcurrency({ cpus, memoryBytes }: Capacity): number {
  return Math.max(1, Math.min(2 * cpus, Math.floor(memoryBytes / BYTES_PER_TURN)));
}
