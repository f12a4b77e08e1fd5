import { BudgieError } from "@budgie/core";

/** The most that is read of a copy. An agent may have made any number of files, and sparse ones of any size. */
export const READ_BOUNDS = { entries: 2_000_000, bytes: 16 * 1024 ** 3 };

/** Returns the error for a copy beyond {@link READ_BOUNDS}. */
export function tooMuchError(path: string): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `The copy holds more than budgie reads, at ${JSON.stringify(path.slice(0, 300))}. Begin a new session.`,
  );
}
