import { toOpenPeriod, toSessionPeriod, type Amounts, type Standing } from "@budgie/core/budget";
import { addToTotal, KEY, listLimitRows, readStanding, type LimitRow } from "./limit-row.ts";
import type { Database } from "../database/sqlite.ts";

/**
 * Replaces what a turn reserved by what it used, or by nothing, and returns its limits as they stand then. Of a unit that is missing, the
 * reservation counts. Must run in a transaction, as must the other functions of this file.
 */
export function settleBudget(database: Database, run: string, used: Amounts | undefined): readonly Standing[] {
  const [turn] = database.all("SELECT root FROM budget_turns WHERE run = ?", run);
  // Another budgie took its owner for dead, and settled it.
  if (turn === undefined) return [];
  const limits = listLimitRows(database, run);
  const root = turn["root"] === null ? undefined : String(turn["root"]);
  for (const limit of limits) {
    const amount = used === undefined ? 0 : (used[limit.unit] ?? limit.reserved);
    addToTotal(database, limit, amount - limit.reserved - takeFromRoot(database, { root, limit, amount }));
  }
  removeTurn(database, run);
  const standings = limits.map((limit) => readStanding(database, limit));
  removeOwnTotals(database, run);
  return standings;
}

/** Takes what a nested turn used from what the outermost call reserved for it, and returns how much that was. */
function takeFromRoot(
  database: Database,
  { amount, limit, root }: { readonly amount: number; readonly limit: LimitRow; readonly root: string | undefined },
): number {
  const { period, scope, unit } = limit;
  if (root === undefined || unit === "turns" || limit.reserved > 0) return 0;
  const key = [root, scope, period, unit];
  const [row] = database.all(`SELECT reserved FROM budget_limits WHERE run = ? AND ${KEY}`, ...key);
  const taken = Math.min(Number(row?.["reserved"] ?? 0), amount);
  database.run(`UPDATE budget_limits SET reserved = round(reserved - ?, 9) WHERE run = ? AND ${KEY}`, taken, ...key);
  return taken;
}

/** Names the session that a turn has opened. */
export function bindBudget(database: Database, run: string, session: string): void {
  const [from, to] = [toOpenPeriod(run), toSessionPeriod(session)];
  database.run("UPDATE budget_turns SET session = ? WHERE run = ?", session, run);
  database.run("UPDATE budget_limits SET period = ? WHERE period = ?", to, from);
  database.run("UPDATE budget_totals SET period = ? WHERE period = ?", to, from);
}

/**
 * Settles a turn whose budgie died before it could: it counts with what it reserved, and as having run until now, but no longer than it could.
 */
export function settleLost(database: Database, run: string): void {
  const [turn] = database.all("SELECT started, ends FROM budget_turns WHERE run = ?", run);
  if (turn === undefined) return;
  const minutes = (Math.min(Date.now(), Number(turn["ends"])) - Number(turn["started"])) / MINUTE_MS;
  for (const limit of listLimitRows(database, run)) {
    const most = limit.reserved > 0 ? limit.reserved : Infinity;
    if (limit.unit === "minutes") addToTotal(database, limit, Math.min(Math.max(minutes, 0), most) - limit.reserved);
  }
  removeTurn(database, run);
  removeOwnTotals(database, run);
}

const MINUTE_MS = 60_000;

function removeTurn(database: Database, run: string): void {
  database.run("DELETE FROM budget_limits WHERE run = ?", run);
  database.run("DELETE FROM budget_turns WHERE run = ?", run);
}

/** Removes the totals of a call, and of a session that was not opened. */
function removeOwnTotals(database: Database, run: string): void {
  database.run("DELETE FROM budget_totals WHERE period IN (?, ?)", `turn ${run}`, toOpenPeriod(run));
}

const DAYS_KEPT_MS = 3 * 24 * 60 * 60 * 1000;
const SESSIONS_KEPT_MS = 30 * 24 * 60 * 60 * 1000;

/** Removes the totals of past days, and of sessions that are gone. */
export function pruneBudget(database: Database): void {
  const now = Date.now();
  database.run("DELETE FROM budget_totals WHERE period NOT LIKE 'session %' AND touched < ?", now - DAYS_KEPT_MS);
  database.run(
    "DELETE FROM budget_totals WHERE period LIKE 'session %' AND touched < ? AND substr(period, 9) NOT IN (SELECT id FROM sessions)",
    now - SESSIONS_KEPT_MS,
  );
}
