import type { BudgieError, FailureReport } from "../errors.ts";
import { KNOWN_TELEMETRY, type EgressReport } from "../egress.ts";
import { formatDuration } from "../text/parse-duration.ts";
import { formatCount } from "../text/truncate-text.ts";
import type { Usage } from "../usage.ts";

type Summed = Pick<FailureReport, "changedFiles" | "egress" | "usage">;

/** The facts of the line about an answered turn. */
type Answered = Summed & { readonly agent: string; readonly durationMs: number };

/** Returns the one line about a turn that was answered: `worker: done in 11.7 s · 3 files changed · refused 1 host · 0.4 credits`. */
export function formatSummary(reply: Answered): string {
  return joinFacts(`${reply.agent}: done in ${formatTime(reply.durationMs)}`, reply);
}

/** Returns the same line about a turn that failed; `undefined` if the call was refused before it was one. */
export function formatFailedSummary({ code, report }: Pick<BudgieError, "code" | "report">): string | undefined {
  const { agent, durationMs } = report;
  if (agent === undefined) return undefined;
  const after = durationMs === undefined ? "" : ` after ${formatTime(durationMs)}`;
  if (code === "TIMED_OUT") return joinFacts(`${agent}: stopped${after}`, report);
  if (code === "CANCELLED") return joinFacts(`${agent}: cancelled${after}`, report);
  return joinFacts(`${agent}: failed${after}: ${code}`, report);
}

function joinFacts(start: string, { changedFiles, egress, usage }: Summed): string {
  const files = changedFiles?.files ?? 0;
  const hosts = countRefused(egress);
  const facts = [
    ...(files === 0 ? [] : [`${formatMany(files, "file")} changed`]),
    ...(hosts === 0 ? [] : [`refused ${formatMany(hosts, "host")}`]),
    ...formatUsage(usage),
  ];
  return [start, ...facts].join(" · ");
}

/** Counts the hosts that were refused, without those that no work misses. */
function countRefused(egress: EgressReport | undefined): number {
  const refused = egress?.denied.filter(({ why }) => why !== KNOWN_TELEMETRY) ?? [];
  return new Set(refused.map(({ host }) => host)).size;
}

/** Returns the cost, in the figure that says most: credits, money or tokens. A last request's tokens are not the turn's. */
function formatUsage({ basis, cost, credits, totalTokens }: Usage = {}): readonly string[] {
  if (credits !== undefined) return [`${round(credits)} credits`];
  // The agent's program chose the currency.
  if (cost !== undefined && /^[A-Za-z]{1,8}$/.test(cost.currency)) return [`${round(cost.amount)} ${cost.currency}`];
  return totalTokens === undefined || basis === "request" ? [] : [`${formatCount(totalTokens)} tokens`];
}

function round(amount: number): number {
  return Math.round(amount * 10_000) / 10_000;
}

function formatMany(count: number, what: string): string {
  return `${formatCount(count)} ${what}${count === 1 ? "" : "s"}`;
}

/** Returns a duration as people write it, such as `11.7 s`. */
function formatTime(ms: number): string {
  return formatDuration(ms)
    .replace(/(\d)(ms|[hms])/g, "$1 $2 ")
    .trim();
}
