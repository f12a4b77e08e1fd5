import { BudgieError, type ErrorCode } from "../errors.ts";
import type { Amounts } from "./budget.ts";

const AMOUNT = /^(\d{1,12}(?:\.\d{1,6})?) ?(turns?|minutes?|tokens?|credits?|[A-Z]{3})$/;
const MOST_AMOUNTS = 10;

/** Parses amounts such as `2 credits` or `1.50 USD, 100000 tokens`. Throws an error with `code` that names `option`. */
export function parseAmounts(text: string, option: string, code: ErrorCode): Amounts {
  const parts = text.split(",", MOST_AMOUNTS + 1).map((part) => AMOUNT.exec(part.trim()) ?? undefined);
  const amounts = parts.flatMap((part) => (part === undefined ? [] : [toEntry(part)]));
  const isSound = amounts.length === parts.length && new Set(amounts.map(([unit]) => unit)).size === parts.length;
  if (isSound && parts.length <= MOST_AMOUNTS) return Object.fromEntries(amounts);
  throw new BudgieError(
    code,
    `Expected ${option} to be amounts of turns, minutes, tokens, credits or a currency, such as "2 credits" or "1.50 USD, 100000 tokens", got ${JSON.stringify(text.slice(0, 100))}.`,
  );
}

function toEntry([, amount = "", unit = ""]: RegExpExecArray): readonly [string, number] {
  const isSingular = unit !== unit.toUpperCase() && !unit.endsWith("s");
  return [isSingular ? `${unit}s` : unit, Number(amount)];
}
