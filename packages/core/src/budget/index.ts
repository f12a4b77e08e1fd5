// The public surface of @budgie/core/budget: every export is named here, and becomes API.
export {
  BUDGET_WINDOWS,
  listLimits,
  toOpenPeriod,
  toSessionPeriod,
  type Amounts,
  type Budget,
  type BudgetLimit,
  type BudgetWindow,
  type ScopedBudget,
} from "./budget.ts";
export { COST_FORM, parseBudget, parseBudgets, type BudgetSection, type BudgetSections } from "./parse-budget.ts";
export { parseAmounts } from "./parse-amounts.ts";
export type { BudgetLedger, Cap, ReservationWish, Reserved, Standing } from "./budget-ledger.ts";
