import { setTimeout as sleep } from "node:timers/promises";
import { BudgieError, type ErrorCode } from "./errors.ts";

// What a second try can mend: everything else fails the same way again.
const WORTH_A_RETRY: ReadonlySet<ErrorCode> = new Set(["TIMED_OUT", "AGENT_CRASHED"]);

export type RetryOptions = {
  readonly delayMs: number;
  readonly signal: AbortSignal | undefined;
};

/** Runs `attempt`, and once more after `delayMs` if it timed out or crashed; `attempt` learns which try it is, from 1. */
export async function withRetry<T>(attempt: (number: number) => Promise<T>, options: RetryOptions): Promise<T> {
  try {
    return await attempt(1);
  } catch (error) {
    if (!(error instanceof BudgieError) || !WORTH_A_RETRY.has(error.code)) throw error;
    await sleep(options.delayMs, undefined, { signal: options.signal }).catch((cause: unknown) => {
      throw new BudgieError("CANCELLED", `The turn was cancelled before its second try. ${error.message}`, { cause });
    });
    return attempt(2);
  }
}
