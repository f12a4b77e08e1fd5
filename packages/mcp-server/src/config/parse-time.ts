import { BudgieError, parseDuration, parseTimeout } from "@budgie/core";

type TimeOptions = {
  /** How a message calls the option */
  readonly option: string;
  readonly most: string;
};

/** Parses a time that dates, labels and timers can hold, in milliseconds: longer than nothing, and not much too long. */
export function parseTime(text: string, { most, option }: TimeOptions): number {
  const timeMs = parseTimeout(text, option);
  if (timeMs <= parseDuration(most, option)) return timeMs;
  throw new BudgieError("CONFIG_INVALID", `Expected ${option} to be at most ${most}, got "${text}".`);
}
