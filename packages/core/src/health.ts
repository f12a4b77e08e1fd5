import { toDurationText } from "./duration.ts";
import { BudgieError } from "./errors.ts";
import type { Isolation } from "./runner.ts";

/** Counts turns and tells how they went. */
export type Health = {
  /** Runs a turn and records how it ended. */
  record<T>(agent: string, turn: () => Promise<T>): Promise<T>;
  report(): HealthReport;
};

export type HealthReport = {
  readonly isolation: Isolation;
  readonly overall: Pick<AgentHealth, "totalCalls" | "successCalls" | "successRate">;
  readonly agents: readonly AgentHealth[];
};

export type AgentHealth = {
  readonly agent: string;
  readonly totalCalls: number;
  readonly successCalls: number;
  /** Every turn without an answer, timeouts included, cancelled ones left out */
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

type Tally = {
  total: number;
  success: number;
  timeout: number;
  cancelled: number;
  durationsMs: number[];
  lastSuccess: string;
  lastFailure: string;
  lastError: string;
};

// Enough for a steady percentile, little enough to keep for ever.
const DURATIONS_KEPT = 500;

/** Creates the health record of these agents, empty. */
export function createHealth(agents: readonly string[], isolation: Isolation): Health {
  const tallies = new Map(agents.map((agent) => [agent, newTally()]));
  return {
    async record(agent, turn) {
      const tally = tallies.get(agent) ?? newTally();
      tallies.set(agent, tally);
      const began = performance.now();
      tally.total++;
      try {
        const answer = await turn();
        recordSuccess(tally, performance.now() - began);
        return answer;
      } catch (error) {
        recordFailure(tally, error);
        throw error;
      }
    },
    report: () => toReport(tallies, isolation),
  };
}

function newTally(): Tally {
  return {
    total: 0,
    success: 0,
    timeout: 0,
    cancelled: 0,
    durationsMs: [],
    lastSuccess: "",
    lastFailure: "",
    lastError: "",
  };
}

function recordSuccess(tally: Tally, durationMs: number): void {
  tally.success++;
  tally.lastSuccess = new Date().toISOString();
  tally.durationsMs.push(durationMs);
  if (tally.durationsMs.length > DURATIONS_KEPT) tally.durationsMs.shift();
}

function recordFailure(tally: Tally, error: unknown): void {
  const code = error instanceof BudgieError ? error.code : undefined;
  if (code === "CANCELLED") {
    tally.cancelled++;
    return;
  }
  if (code === "TIMED_OUT") tally.timeout++;
  tally.lastFailure = new Date().toISOString();
  const message = error instanceof Error ? error.message : String(error);
  tally.lastError = code === undefined ? message : `${code}: ${message}`;
}

function toReport(tallies: ReadonlyMap<string, Tally>, isolation: Isolation): HealthReport {
  const all = [...tallies.values()];
  const total = sum(all.map((tally) => tally.total));
  const success = sum(all.map((tally) => tally.success));
  const cancelled = sum(all.map((tally) => tally.cancelled));
  return {
    isolation,
    overall: { totalCalls: total, successCalls: success, successRate: toRate(success, total - cancelled) },
    agents: [...tallies].map(([agent, tally]) => toAgentHealth(agent, tally)),
  };
}

function toAgentHealth(agent: string, tally: Tally): AgentHealth {
  const { cancelled, durationsMs, success, total } = tally;
  const sorted = durationsMs.toSorted((a, b) => a - b);
  return {
    agent,
    totalCalls: total,
    successCalls: success,
    failedCalls: total - success - cancelled,
    timeoutCalls: tally.timeout,
    cancelledCalls: cancelled,
    successRate: toRate(success, total - cancelled),
    avgDuration: sorted.length === 0 ? "" : toDurationText(sum(sorted) / sorted.length),
    p50Duration: percentile(sorted, 0.5),
    p95Duration: percentile(sorted, 0.95),
    lastSuccess: tally.lastSuccess,
    lastFailure: tally.lastFailure,
    lastError: tally.lastError,
  };
}

/** Nearest rank: the smallest duration that at least this share of the turns did not exceed. */
function percentile(sortedMs: readonly number[], share: number): string {
  const value = sortedMs[Math.ceil(sortedMs.length * share) - 1];
  return value === undefined ? "" : toDurationText(value);
}

function toRate(part: number, whole: number): string {
  return whole === 0 ? "n/a" : `${((100 * part) / whole).toFixed(1)}%`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
