import type { BudgetLimit, BudgetWindow, Standing } from "@budgie/core/budget";
import { withoutFloatError } from "@budgie/core/runs";
import type { Database, Row } from "../database/sqlite.ts";

/** A limit of a turn in the ledger. */
export type LimitRow = BudgetLimit & {
  /** The part of the total that the turn reserved */
  readonly reserved: number;
};

/** Lists the limits of a turn. */
export function listLimitRows(database: Database, run: string): readonly LimitRow[] {
  return database.all("SELECT * FROM budget_limits WHERE run = ?", run).map((row) => ({
    ...toLimit(row),
    reserved: Number(row["reserved"]),
  }));
}

function toLimit(row: Row): BudgetLimit {
  const [scope = "", window = "", period = "", unit = ""] = ["scope", "kind", "period", "unit"].map((name) =>
    String(row[name]),
  );
  return { scope, window: window as BudgetWindow, period, unit, most: Number(row["most"]) };
}

/** Returns how much of a limit is used, and how much of that running turns reserved. */
export function readStanding(database: Database, limit: BudgetLimit): Standing {
  const { scope, period, unit } = limit;
  const [total] = database.all(`SELECT amount FROM budget_totals WHERE ${KEY}`, scope, period, unit);
  const [held] = database.all(`SELECT sum(reserved) AS held FROM budget_limits WHERE ${KEY}`, scope, period, unit);
  return { ...limit, used: Number(total?.["amount"] ?? 0), reserved: withoutFloatError(Number(held?.["held"] ?? 0)) };
}

/** Adds to a total, which never gets below zero. */
export function addToTotal(database: Database, { period, scope, unit }: BudgetLimit, amount: number): void {
  database.run(
    `INSERT INTO budget_totals (scope, period, unit, amount, touched) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (period, scope, unit) DO UPDATE SET amount = max(0, round(amount + ?, 9)), touched = excluded.touched`,
    scope,
    period,
    unit,
    Math.max(0, amount),
    Date.now(),
    amount,
  );
}

/** The condition of a limit's key: scope, period and unit. */
export const KEY = "scope = ? AND period = ? AND unit = ?";
