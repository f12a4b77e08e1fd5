import { setTimeout as sleep } from "node:timers/promises";
import { BudgieError, type ErrorCode } from "../errors.ts";
import type { WorkspaceChanges } from "../changes/watch-workspace.ts";

/** When a try that timed out or crashed is repeated; `safe`: only where it changed nothing in the workspace. */
export const RETRY_MODES = ["safe", "always", "never"] as const;

export type RetryMode = (typeof RETRY_MODES)[number];

// What a second try can mend: everything else fails the same way again.
const WORTH_A_RETRY: ReadonlySet<ErrorCode> = new Set(["TIMED_OUT", "AGENT_CRASHED"]);

export type RetryOptions = {
  readonly mode: RetryMode;
  readonly delayMs: number;
  readonly signal: AbortSignal | undefined;
  /** Resolves when nothing of the first try runs any more */
  readonly end: () => Promise<unknown>;
  /** What became of the workspace during the first try */
  readonly findChanges: () => Promise<WorkspaceChanges>;
};

/**
 * Runs `attempt`, and once more after `delayMs` if it timed out or crashed and another try does no harm; `attempt` learns
 * which try it is, from 1.
 */
export async function withRetry<T>(attempt: (number: number) => Promise<T>, options: RetryOptions): Promise<T> {
  try {
    return await attempt(1);
  } catch (error) {
    if (options.mode === "never" || !(error instanceof BudgieError) || !WORTH_A_RETRY.has(error.code)) throw error;
    await refuseHarm(error, options);
    await sleep(options.delayMs, undefined, { signal: options.signal }).catch((cause: unknown) => {
      throw new BudgieError("CANCELLED", `The turn was cancelled before its second try. ${error.message}`, { cause });
    });
    return attempt(2);
  }
}

/** Throws `INDETERMINATE` where the first try may have done its work in part, or may still be doing it. */
async function refuseHarm(failure: BudgieError, { end, mode, signal, findChanges }: RetryOptions): Promise<void> {
  const isGone = await end().then(
    () => true,
    () => false,
  );
  if (signal?.aborted === true) return;
  if (!isGone) throw indeterminate(failure, "and whether the agent was ended for certain is unknown");
  if (mode === "always") return;
  const { count, paths, unknown } = await findChanges();
  if (count === 0 && unknown === undefined) return;
  const what =
    count === 0
      ? `and whether the workspace changed during it cannot be told: ${unknown}`
      : `and the workspace changed during it: ${toList(paths, count)}`;
  throw indeterminate(failure, what, { paths, hint: "; --retry always tries again regardless" });
}

const MOST_NAMED = 10;

function toList(paths: readonly string[], count: number): string {
  const named = paths.slice(0, MOST_NAMED).map((path) => JSON.stringify(path));
  const rest = count - named.length;
  return [...named, ...(rest === 0 ? [] : [`and ${rest} more`])].join(", ");
}

function indeterminate(
  failure: BudgieError,
  what: string,
  { hint, paths }: { readonly paths: readonly string[]; readonly hint: string } = { paths: [], hint: "" },
): BudgieError {
  return new BudgieError(
    "INDETERMINATE",
    `How far the agent came is indeterminate, so it was not tried again: its first try failed, ${what}. ${failure.message} ` +
      `Look at what was done, and ask again in the same session to go on from there${hint}.`,
    { cause: failure, report: { changedPaths: paths } },
  );
}
