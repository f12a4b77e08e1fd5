/** The windows in which use is counted: one call with all that is nested in it, one session, and one day on this machine's clock. */
export const BUDGET_WINDOWS = ["turn", "session", "day"] as const;

export type BudgetWindow = (typeof BUDGET_WINDOWS)[number];

/** Amounts by unit: `turns`, `minutes`, `tokens`, `credits`, or a currency in capitals such as `USD`. */
export type Amounts = Readonly<Record<string, number>>;

/** The most that turns may use, by window. */
export type Budget = { readonly [Window in BudgetWindow]?: Amounts | undefined };

/** A budget and those who share it: `all`, `agent NAME`, `directory PATH`, or `call` for the one that a caller asked for. */
export type ScopedBudget = { readonly scope: string; readonly budget: Budget };

/** A limit of one unit in one window. */
export type BudgetLimit = {
  readonly scope: string;
  readonly window: BudgetWindow;
  /** The call, session or day for which it counts, such as `day 2026-11-28` */
  readonly period: string;
  readonly unit: string;
  readonly most: number;
};

/** A run for which limits are listed. */
export type CountedRun = {
  readonly runId: string;
  /** `undefined` for a new session */
  readonly sessionId: string | undefined;
  readonly now: Date;
};

/** Lists the limits of these budgets that count for a turn. */
export function listLimits(budgets: readonly ScopedBudget[], turn: CountedRun): readonly BudgetLimit[] {
  return budgets.flatMap(({ budget, scope }) =>
    BUDGET_WINDOWS.flatMap((window) =>
      Object.entries(budget[window] ?? {}).map(([unit, most]) => ({
        scope,
        window,
        period: toPeriod(window, turn),
        unit,
        most,
      })),
    ),
  );
}

function toPeriod(window: BudgetWindow, { now, runId, sessionId }: CountedRun): string {
  switch (window) {
    case "turn":
      return `turn ${runId}`;
    case "session":
      return sessionId === undefined ? toOpenPeriod(runId) : toSessionPeriod(sessionId);
    case "day":
      return `day ${formatDay(now)}`;
  }
}

/** Returns the period of a session. */
export function toSessionPeriod(sessionId: string): string {
  return `session ${sessionId}`;
}

/** Returns the period of the session that a turn will open. */
export function toOpenPeriod(runId: string): string {
  return `session of ${runId}`;
}

/** Formats a day by the machine's clock, such as `2026-11-28`. */
function formatDay(date: Date): string {
  const [month, day] = [date.getMonth() + 1, date.getDate()].map((number) => String(number).padStart(2, "0"));
  return `${date.getFullYear()}-${month}-${day}`;
}
