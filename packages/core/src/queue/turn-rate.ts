import { formatDuration } from "../text/parse-duration.ts";
import { BudgieError } from "../errors.ts";

/** The limits on turns that begin within any 60 s. */
export type RateLimits = {
  /** The limit of all agents together; `undefined` for none */
  readonly all: number | undefined;
  /** The limit of one agent, by its name */
  readonly agents: ReadonlyMap<string, number>;
};

/** The counter of turns that begin. */
export type TurnRate = {
  /** Counts a turn of an agent, or throws `RATE_LIMITED` with the time to wait. */
  readonly take: (agent: string, session?: string) => void;
};

const MINUTE_MS = 60_000;

/** Creates a counter at zero. */
export function createTurnRate({ agents, all }: RateLimits): TurnRate {
  const ofAll = createWindow(all);
  const ofEach = new Map([...agents].map(([agent, limit]) => [agent, createWindow(limit)]));
  return {
    take(agent, session) {
      const ofAgent = ofEach.get(agent);
      refuse(
        ofAgent?.waitMs() ?? 0,
        `The agent "${agent}" has used up its ${agents.get(agent)} turns per minute.`,
        session,
      );
      refuse(ofAll.waitMs(), `The agents have used up their ${all} turns per minute.`, session);
      ofAgent?.add();
      ofAll.add();
    },
  };
}

function refuse(waitMs: number, what: string, session: string | undefined): void {
  if (waitMs <= 0) return;
  const seconds = Math.ceil(waitMs / 1000);
  const again = formatDuration(seconds * 1000);
  throw new BudgieError("RATE_LIMITED", `${what} Nothing was started. Try again in ${again}.`, {
    report: { sessionId: session },
  });
}

type Window = { readonly waitMs: () => number; readonly add: () => void };

/** Creates a sliding window. Libraries count per clock minute or refill a bucket, and so allow twice as many turns. */
function createWindow(limit = Number.POSITIVE_INFINITY): Window {
  const begun: number[] = [];
  return {
    waitMs() {
      const now = performance.now();
      while ((begun[0] ?? now) <= now - MINUTE_MS) begun.shift();
      return begun.length < limit ? 0 : (begun[0] ?? now) + MINUTE_MS - now;
    },
    add: () => void (limit === Number.POSITIVE_INFINITY || begun.push(performance.now())),
  };
}
