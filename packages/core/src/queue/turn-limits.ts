import type { Capacity } from "../runner/runner.ts";

/** How many turns there may be at once. */
export type TurnLimits = {
  /** That run, of all agents together */
  readonly concurrent: number;
  /** That wait besides */
  readonly queued: number;
  /** That run of one agent, by its name */
  readonly agents: ReadonlyMap<string, number>;
};

/** What a user said of the limits. */
export type TurnLimitWishes = { readonly [Limit in keyof TurnLimits]?: TurnLimits[Limit] | undefined };

/** How many turns wait at most if nobody says. */
export const DEFAULT_MAX_QUEUED = 256;

/** Fills in what was not said: as many turns run as the machine they run on can be expected to bear. */
export function toTurnLimits(wishes: TurnLimitWishes, capacity: Capacity): TurnLimits {
  const { agents = new Map(), concurrent = toUsualConcurrency(capacity), queued = DEFAULT_MAX_QUEUED } = wishes;
  return { agents, concurrent, queued };
}

/** Agents mostly wait for their model, so a core bears two; few stay below this memory once they build and test. */
const BYTES_PER_TURN = 2 ** 30;

function toUsualConcurrency({ cpus, memoryBytes }: Capacity): number {
  return Math.max(1, Math.min(2 * cpus, Math.floor(memoryBytes / BYTES_PER_TURN)));
}
