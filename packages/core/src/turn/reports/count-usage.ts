import { addUsage } from "../../runs/add-usage.ts";
import { subtractTotals } from "../../runs/subtract-totals.ts";
import type { UsageReport } from "../../usage.ts";
import type { Step } from "../turn.ts";

/** Adds the cost of each attempt to the turn's, also of one that failed. */
export function countUsage(): Step {
  return async (turn, next) => {
    let last: UsageReport | undefined;
    const note = (report: UsageReport): void => void (last = report);
    turn.events.on("usage", note);
    try {
      return await next();
    } finally {
      turn.events.off("usage", note);
      if (last !== undefined) {
        const { totals, usage } = subtractTotals(last, turn.session.totals);
        turn.session.count(totals);
        turn.report.usage = addUsage(turn.report.usage, usage);
      }
    }
  };
}
