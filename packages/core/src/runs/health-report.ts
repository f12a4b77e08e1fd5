import { toDurationText } from "../text/duration.ts";
import type { Run } from "./run-log.ts";
import type { Isolation } from "../owners/owner-record.ts";

export type HealthReport = {
  readonly isolation: Isolation;
  readonly overall: Pick<AgentHealth, "totalCalls" | "successCalls" | "successRate">;
  readonly agents: readonly AgentHealth[];
};

type AgentHealth = {
  readonly agent: string;
  /** Turns that are over */
  readonly totalCalls: number;
  readonly successCalls: number;
  /** Every turn without an answer, timeouts and lost ones included, cancelled ones left out */
  readonly failedCalls: number;
  readonly timeoutCalls: number;
  readonly cancelledCalls: number;
  /** Of the turns that were not cancelled, such as `90.5%`; `n/a` before the first */
  readonly successRate: string;
  /** These three are of successful turns, such as `15.3s`; empty before the first */
  readonly avgDuration: string;
  readonly p50Duration: string;
  readonly p95Duration: string;
  /** ISO 8601; empty if there was none */
  readonly lastSuccess: string;
  readonly lastFailure: string;
  readonly lastError: string;
};

export type HealthOptions = {
  /** Those that are listed in any case */
  readonly agents: readonly string[];
  readonly isolation: Isolation;
  /** Whether last errors are told in full, with the directories and sessions that their texts name; default true */
  readonly showErrors?: boolean;
};

/** How many turns a report is made of at most. */
export const HEALTH_RUNS = 10_000;

// Enough for a steady percentile.
const DURATIONS_COUNTED = 500;

/** Tells how turns went, of these runs, the newest first; one that still runs does not count yet. */
export function toHealthReport(
  runs: readonly Run[],
  { agents, isolation, showErrors = true }: HealthOptions,
): HealthReport {
  const over = runs.filter(({ outcome }) => outcome !== "running");
  const byAgent = new Map(agents.map((agent): [string, Run[]] => [agent, []]));
  for (const run of over) {
    const own = byAgent.get(run.agent) ?? [];
    byAgent.set(run.agent, own);
    own.push(run);
  }
  const { successCalls, successRate, totalCalls } = toCounts(over);
  return {
    isolation,
    overall: { totalCalls, successCalls, successRate },
    agents: [...byAgent].map(([agent, own]) => toAgentHealth(agent, own, showErrors)),
  };
}

function toAgentHealth(agent: string, runs: readonly Run[], showErrors: boolean): AgentHealth {
  const successes = runs.filter(isSuccess);
  const lastFailure = runs.find(isFailure);
  return {
    agent,
    ...toCounts(runs),
    ...toDurations(successes.slice(0, DURATIONS_COUNTED)),
    lastSuccess: toTime(successes[0]),
    lastFailure: toTime(lastFailure),
    lastError: lastFailure === undefined ? "" : toErrorText(lastFailure, showErrors),
  };
}

function toCounts(
  runs: readonly Run[],
): Pick<
  AgentHealth,
  "cancelledCalls" | "failedCalls" | "successCalls" | "successRate" | "timeoutCalls" | "totalCalls"
> {
  const count = (outcome: Run["outcome"]): number => runs.filter((run) => run.outcome === outcome).length;
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

function toDurations(successes: readonly Run[]): Pick<AgentHealth, "avgDuration" | "p50Duration" | "p95Duration"> {
  const sortedMs = successes
    .map(({ endedMs, startedMs }) => Math.max((endedMs ?? startedMs) - startedMs, 0))
    .toSorted((a, b) => a - b);
  const totalMs = sortedMs.reduce((total, ms) => total + ms, 0);
  return {
    avgDuration: sortedMs.length === 0 ? "" : toDurationText(totalMs / sortedMs.length),
    p50Duration: percentile(sortedMs, 0.5),
    p95Duration: percentile(sortedMs, 0.95),
  };
}

/** Nearest rank: the smallest duration that at least this share of the turns did not exceed. */
function percentile(sortedMs: readonly number[], share: number): string {
  const value = sortedMs[Math.ceil(sortedMs.length * share) - 1];
  return value === undefined ? "" : toDurationText(value);
}

function isSuccess({ outcome }: Run): boolean {
  return outcome === "answered";
}

function isFailure({ outcome }: Run): boolean {
  return outcome !== "answered" && outcome !== "CANCELLED";
}

function toTime(run: Run | undefined): string {
  return run === undefined ? "" : new Date(run.endedMs ?? run.startedMs).toISOString();
}

function toErrorText({ error = "", outcome }: Run, showErrors: boolean): string {
  if (!showErrors) return outcome;
  return outcome === "BUG" ? error : `${outcome}: ${error}`;
}
