import type { Cap } from "../budget/budget-ledger.ts";
import { formatAmount, formatOwner } from "../budget/format-standing.ts";
import { toAmounts } from "../budget/to-amounts.ts";
import { BudgieError } from "../errors.ts";
import { createTail } from "../protocol/bounded-output.ts";
import { removeTerminalSequences } from "../text/remove-terminal-sequences.ts";
import { sanitizeText } from "../text/sanitize-text.ts";
import type { UsageReport } from "../usage.ts";
import type { Turn } from "./turn.ts";
import { addUsage } from "../runs/add-usage.ts";
import { subtractTotals } from "../runs/subtract-totals.ts";

/** The watch of a running turn. */
export type BudgetWatch = {
  /** Returns the error of a turn that the watch stopped, with what the agent had said; any other error unchanged */
  readonly toError: (error: unknown) => unknown;
  readonly end: () => void;
};

// An agent that reports its cost with its answer is about to end.
const GRACE_MS = 5000;
const PARTIAL_BYTES = 16_384;
const MINUTE_MS = 60_000;
const NOTICE_SHARE = 0.8;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Stops a turn that uses more than its caps: after its minutes at once, and after an amount that its program reports at the next thing that
 * the agent does. Tells of each cap once when four fifths of it are used.
 */
export function watchBudget(turn: Turn, caps: readonly Cap[], graceMs = GRACE_MS): BudgetWatch {
  const { events, signal } = turn;
  const stop = new AbortController();
  const said = createTail(PARTIAL_BYTES);
  const timers: NodeJS.Timeout[] = [];
  const told = new Set<Cap>();
  let reached: Cap | undefined;

  const note = (chunk: Buffer, stream: "stderr" | "stdout"): void => void (stream === "stdout" && said.add(chunk));
  const stopIfReached = (): void => void (reached !== undefined && stop.abort());
  function tell(cap: Cap): void {
    if (told.has(cap) || reached !== undefined) return;
    told.add(cap);
    const notice = `It has used four fifths of ${formatCap(cap)}, and is stopped once it has used all.`;
    turn.enter({ phase: "running", attempt: turn.attempts, activity: notice });
    events.emit("budget", notice);
  }
  function weigh(report: UsageReport): void {
    stopIfReached();
    const { usage } = subtractTotals(report, turn.session.totals);
    const used = toAmounts(addUsage(turn.report.usage, usage));
    const isUsed = ({ amount, unit }: Cap, share: number): boolean => (used[unit] ?? 0) >= amount * share;
    const next = caps.find((cap) => isUsed(cap, 1));
    if (next === undefined) caps.filter((cap) => isUsed(cap, NOTICE_SHARE)).forEach(tell);
    if (next === undefined || reached !== undefined) return;
    reached = next;
    timers.push(setTimeout(stopIfReached, graceMs).unref());
  }

  const minutes = caps.find(({ unit }) => unit === "minutes");
  if (minutes !== undefined) {
    const stopNow = (): void => {
      reached ??= minutes;
      stopIfReached();
    };
    const after = (share: number): number => Math.min(minutes.amount * MINUTE_MS * share, LONGEST_TIMER_MS);
    timers.push(setTimeout(() => tell(minutes), after(NOTICE_SHARE)).unref(), setTimeout(stopNow, after(1)).unref());
  }
  if (caps.length > 0) {
    turn.signal = AbortSignal.any([stop.signal, ...(signal === undefined ? [] : [signal])]);
    events.on("output", note);
    events.on("usage", weigh);
    events.on("activity", stopIfReached);
  }

  return {
    toError(error) {
      const isOurs = stop.signal.aborted && signal?.aborted !== true;
      if (!isOurs || reached === undefined || !(error instanceof BudgieError) || error.code !== "CANCELLED")
        return error;
      const text = sanitizeText(removeTerminalSequences(Buffer.concat(said.chunks()).toString("utf8"))).trim();
      const report = { ...error.report, response: text === "" ? undefined : text };
      return new BudgieError("BUDGET_SPENT", explainStop(reached, text), { cause: error, report });
    },
    end() {
      for (const timer of timers) clearTimeout(timer);
      events.off("output", note);
      events.off("usage", weigh);
      events.off("activity", stopIfReached);
    },
  };
}

function explainStop(cap: Cap, text: string): string {
  const partial = text === "" ? "It had said nothing yet." : "What it had said last is its answer so far.";
  return `The agent was stopped, since it has used ${formatCap(cap)}. ${partial} Look at what was done; the session can be resumed once its budget allows that.`;
}

function formatCap({ amount, limit, unit }: Cap): string {
  const most = `${formatAmount(limit.most)} ${unit} of ${formatOwner(limit)}`;
  return amount < limit.most ? `the ${formatAmount(amount)} ${unit} that were left of ${most}` : most;
}
