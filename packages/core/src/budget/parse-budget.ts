import type { Amounts, Budget } from "./budget.ts";

/** The limits of one window, as a person or a caller writes them. */
type BudgetLimits = {
  readonly turns?: number | undefined;
  readonly minutes?: number | undefined;
  /** The tokens that models read anew and write, without those from caches */
  readonly tokens?: number | undefined;
  readonly credits?: number | undefined;
  /** An amount and its currency, such as `5 USD` */
  readonly cost?: string | undefined;
};

/** The form of an amount of money: at most nine digits, a currency of three capitals. */
export const COST_FORM = /^(\d{1,9}(?:\.\d{1,6})?) ([A-Z]{3})$/;

/** Returns the amounts of checked limits. */
function parseLimits({ cost, ...amounts }: BudgetLimits): Amounts {
  const [, amount, currency] = COST_FORM.exec(cost ?? "") ?? [];
  const given = Object.entries(amounts).filter((entry): entry is [string, number] => entry[1] !== undefined);
  return { ...Object.fromEntries(given), ...(currency === undefined ? {} : { [currency]: Number(amount) }) };
}

/** A budget, as a person writes it. */
export type BudgetSection = { readonly [Window in keyof Budget]?: BudgetLimits | undefined };

/** The budgets of all agents together and of single ones, as a person writes them. */
export type BudgetSections = {
  readonly all: BudgetSection | undefined;
  readonly agents: ReadonlyMap<string, BudgetSection>;
};

/** Returns the budgets of checked sections. */
export function parseBudgets({ agents, all }: BudgetSections) {
  return {
    all: all && parseBudget(all),
    agents: new Map([...agents].map(([name, section]) => [name, parseBudget(section)])),
  };
}

/** Returns the budget of a checked section. */
export function parseBudget(section: BudgetSection): Budget {
  const given = Object.entries(section).filter((entry): entry is [string, BudgetLimits] => entry[1] !== undefined);
  return Object.fromEntries(given.map(([window, limits]) => [window, parseLimits(limits)]));
}
