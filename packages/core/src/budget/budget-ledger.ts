import type { Amounts, BudgetLimit } from "./budget.ts";

/** A turn that is about to begin. */
export type ReservationWish = {
  readonly runId: string;
  /** `undefined` for a new session */
  readonly sessionId: string | undefined;
  /** The session of the outermost call, if an agent of it made this one */
  readonly rootSession: string | undefined;
  /** The time by which it has ended, whatever happens; milliseconds since 1970 */
  readonly endsMs: number;
  readonly limits: readonly BudgetLimit[];
};

/** A limit, and how much of it is used. */
export type Standing = BudgetLimit & {
  /** The use of ended turns, and what running ones reserved */
  readonly used: number;
  /** The part of `used` that running turns reserved */
  readonly reserved: number;
};

/** The most that a turn may use of one unit, and the limit that says so. */
export type Cap = { readonly unit: string; readonly amount: number; readonly limit: Standing };

/** The outcome of a reservation: the limit that is spent, or the caps of the turn. */
export type Reserved = { readonly spent: Standing } | { readonly spent?: undefined; readonly caps: readonly Cap[] };

/** The counts of what turns used, shared by all budgies with the same state. Each function rejects with a `BudgieError`. */
export type BudgetLedger = {
  /** Reserves what the turn may use, in one transaction with the check of all limits. */
  readonly reserve: (wish: ReservationWish) => Promise<Reserved>;
  /** Names the session that a turn has opened. */
  readonly bind: (runId: string, sessionId: string) => Promise<void>;
  /**
   * Replaces what a turn reserved by what it used, or by nothing. Of a unit that is missing, the reservation counts. Returns its limits as they
   * stand then
   */
  readonly settle: (runId: string, used: Amounts | undefined) => Promise<readonly Standing[]>;
  readonly close: () => void;
};
