import { BudgieError } from "@budgie/core";

/** How many of the last turns `--last` asks for, or throws `CONFIG_INVALID`. */
export function parseLast(text: string): number {
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (count > 0) return count;
  throw new BudgieError("CONFIG_INVALID", `Expected --last to be a number of turns, such as 20, got "${text}".`);
}
