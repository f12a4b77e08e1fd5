import type { RunOutcome } from "./run-log.ts";
import type { Isolation } from "../owners/owner-record.ts";

export type HealthReport = {
  readonly isolation: Isolation;
  readonly overall: Pick<AgentHealth, "totalCalls" | "successCalls" | "successRate">;
  readonly agents: readonly AgentHealth[];
};

type AgentHealth = {
  readonly agent: string;
  /** Turns that have ended */
  readonly totalCalls: number;
  readonly successCalls: number;
  /** Turns without an answer, including timeouts and lost turns, but not cancelled ones */
  readonly failedCalls: number;
  readonly timeoutCalls: number;
  readonly cancelledCalls: number;
  /** The share of successful turns among those that were not cancelled, such as `90.5%`; `n/a` without any */
  readonly successRate: string;
  /** This and the percentiles are of successful turns; missing without any */
  readonly avgDurationMs?: number;
  readonly p50DurationMs?: number;
  readonly p95DurationMs?: number;
  /** ISO 8601; empty if there was none */
  readonly lastSuccess: string;
  readonly lastFailure: string;
  readonly lastError: string;
};

export type HealthOptions = {
  /** The agents that are listed even without turns */
  readonly agents: readonly string[];
  readonly isolation: Isolation;
  /** Shows last errors in full, with the directories and sessions that they name; default true */
  readonly showErrors?: boolean;
};

/** The maximal number of turns in a report. */
export const HEALTH_RUNS = 10_000;

// Enough for a stable percentile.
const DURATIONS_COUNTED = 500;

/** Creates a report from these runs, the newest first. Runs that have not ended do not count. */
export function buildHealthReport(
  runs: readonly RunOutcome[],
  { agents, isolation, showErrors = true }: HealthOptions,
): HealthReport {
  const over = runs.filter(({ outcome }) => outcome !== "running");
  const byAgent = new Map(agents.map((agent): [string, RunOutcome[]] => [agent, []]));
  for (const run of over) {
    const own = byAgent.get(run.agent) ?? [];
    byAgent.set(run.agent, own);
    own.push(run);
  }
  const { successCalls, successRate, totalCalls } = countOutcomes(over);
  return {
    isolation,
    overall: { totalCalls, successCalls, successRate },
    agents: [...byAgent].map(([agent, own]) => reportAgent(agent, own, showErrors)),
  };
}

function reportAgent(agent: string, runs: readonly RunOutcome[], showErrors: boolean): AgentHealth {
  const successes = runs.filter(isSuccess);
  const lastFailure = runs.find(isFailure);
  return {
    agent,
    ...countOutcomes(runs),
    ...measureDurations(successes.slice(0, DURATIONS_COUNTED)),
    lastSuccess: formatEnd(successes[0]),
    lastFailure: formatEnd(lastFailure),
    lastError: lastFailure === undefined ? "" : formatError(lastFailure, showErrors),
  };
}

function countOutcomes(
  runs: readonly RunOutcome[],
): Pick<
  AgentHealth,
  "cancelledCalls" | "failedCalls" | "successCalls" | "successRate" | "timeoutCalls" | "totalCalls"
> {
  const count = (outcome: RunOutcome["outcome"]): number => runs.filter((run) => run.outcome === outcome).length;
  const [success, cancelled] = [count("answered"), count("CANCELLED")];
  const counted = runs.length - cancelled;
  return {
    totalCalls: runs.length,
    successCalls: success,
    failedCalls: counted - success,
    timeoutCalls: runs.filter(({ timedOut }) => timedOut).length,
    cancelledCalls: cancelled,
    successRate: counted === 0 ? "n/a" : `${((100 * success) / counted).toFixed(1)}%`,
  };
}

function measureDurations(
  successes: readonly RunOutcome[],
): Pick<AgentHealth, "avgDurationMs" | "p50DurationMs" | "p95DurationMs"> {
  const sortedMs = successes
    .map(({ endedMs, startedMs }) => Math.max((endedMs ?? startedMs) - startedMs, 0))
    .toSorted((a, b) => a - b);
  const totalMs = sortedMs.reduce((total, ms) => total + ms, 0);
  if (sortedMs.length === 0) return {};
  return {
    avgDurationMs: Math.round(totalMs / sortedMs.length),
    p50DurationMs: percentile(sortedMs, 0.5),
    p95DurationMs: percentile(sortedMs, 0.95),
  };
}

/** Computes a percentile by nearest rank: the smallest duration that at least this share of the turns did not exceed. */
function percentile(sortedMs: readonly number[], share: number): number {
  return sortedMs[Math.ceil(sortedMs.length * share) - 1] ?? 0;
}

function isSuccess({ outcome }: RunOutcome): boolean {
  return outcome === "answered";
}

function isFailure({ outcome }: RunOutcome): boolean {
  return outcome !== "answered" && outcome !== "CANCELLED";
}

function formatEnd(run: RunOutcome | undefined): string {
  return run === undefined ? "" : new Date(run.endedMs ?? run.startedMs).toISOString();
}

function formatError({ error = "", outcome }: RunOutcome, showErrors: boolean): string {
  if (!showErrors) return outcome;
  return outcome === "BUG" ? error : `${outcome}: ${error}`;
}
