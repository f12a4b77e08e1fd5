import type { BudgetLimit, Cap, ReservationWish, Reserved, Standing } from "@budgie/core/budget";
import { withoutFloatError } from "@budgie/core/runs";
import type { OwnerRecord } from "@budgie/core/owners";
import { addToTotal, listLimitRows, readStanding, type LimitRow } from "./limit-row.ts";
import type { Database } from "../database/sqlite.ts";

/** A limit that a turn would count to. */
type Asked = Standing & {
  /** `own`: the turn's; `root`: that of the call in which it is nested */
  readonly of: "own" | "root";
  /** The part of `used` that the outermost call reserved for all that is nested in it */
  readonly covered: number;
};

/** Checks all limits of a turn, and reserves what it may use. Must run in a transaction that excludes other writers. */
export function reserveBudget(database: Database, wish: ReservationWish, owner: OwnerRecord): Reserved {
  const root = findRoot(database, wish.rootSession);
  const asked = collectLimits(database, wish.limits, root);
  const spent = asked.find(isSpent);
  if (spent !== undefined) return { spent };
  const caps = findCaps(asked);
  database.run(
    "INSERT INTO budget_turns (run, root, session, owner, started, ends) VALUES (?, ?, ?, ?, ?, ?)",
    wish.runId,
    root ?? null,
    wish.sessionId ?? null,
    JSON.stringify(owner),
    Date.now(),
    wish.endsMs,
  );
  for (const limit of asked) {
    const reserved = findReservation(limit, asked, caps);
    addToTotal(database, limit, reserved);
    database.run(
      "INSERT INTO budget_limits (run, scope, kind, period, unit, most, reserved) VALUES (?, ?, ?, ?, ?, ?, ?)",
      wish.runId,
      limit.scope,
      limit.window,
      limit.period,
      limit.unit,
      limit.most,
      reserved,
    );
  }
  return { caps };
}

/** Finds the outermost call that a session of this state runs now. */
function findRoot(database: Database, session: string | undefined): string | undefined {
  if (session === undefined) return undefined;
  const [row] = database.all(
    "SELECT run FROM budget_turns WHERE session = ? AND root IS NULL ORDER BY started DESC LIMIT 1",
    session,
  );
  return row === undefined ? undefined : String(row["run"]);
}

/** Collects the turn's limits, and those of the call in which it is nested. Of two with the same count, the lower holds. */
function collectLimits(database: Database, own: readonly BudgetLimit[], root: string | undefined): readonly Asked[] {
  const inherited = root === undefined ? [] : listLimitRows(database, root);
  const byKey = new Map<string, Asked>();
  const add = (limit: BudgetLimit, { covered, of }: Pick<Asked, "covered" | "of">): void => {
    const key = JSON.stringify([limit.scope, limit.period, limit.unit]);
    const known = byKey.get(key);
    const most = Math.min(limit.most, known?.most ?? Infinity);
    byKey.set(key, { ...(known ?? { ...readStanding(database, limit), covered, of }), most });
  };
  for (const limit of inherited) add(limit, { of: "root", covered: toCovered(limit) });
  for (const limit of own) add(limit, { of: "own", covered: 0 });
  return [...byKey.values()];
}

/** Returns what the outermost call reserved for the turns in it too: each of them is a turn of its own. */
function toCovered({ reserved, unit }: LimitRow): number {
  return unit === "turns" ? 0 : reserved;
}

function isSpent({ covered, most, unit, used }: Asked): boolean {
  return unit === "turns" ? used + 1 > most : withoutFloatError(used - covered) >= most;
}

/** Finds the most that the turn may use of each unit: what is left of the limit that leaves the least. */
function findCaps(asked: readonly Asked[]): readonly Cap[] {
  const caps = new Map<string, Cap>();
  for (const limit of asked) {
    const { covered, most, unit, used } = limit;
    const amount = withoutFloatError(most - used + covered);
    if (unit !== "turns" && amount < (caps.get(unit)?.amount ?? Infinity)) caps.set(unit, { unit, amount, limit });
  }
  return [...caps.values()];
}

/** Returns what the turn reserves of a limit: itself, and as much as a call may use where that is known beforehand. */
function findReservation(limit: Asked, asked: readonly Asked[], caps: readonly Cap[]): number {
  const { covered, of, unit, window } = limit;
  if (unit === "turns") return 1;
  const isKnown = asked.some((other) => other.unit === unit && other.window === "turn");
  if (!isKnown || covered > 0 || (window === "turn" && of === "own")) return 0;
  return caps.find((cap) => cap.unit === unit)?.amount ?? 0;
}
