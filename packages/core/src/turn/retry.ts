import { setTimeout as sleep } from "node:timers/promises";
import { BudgieError, type ErrorCode } from "../errors.ts";
import { toOption } from "../options.ts";
import type { WorkspaceChanges } from "../changes/watch-workspace.ts";

/** The modes of retrying an attempt that timed out or crashed; `safe`: only if it changed nothing in the workspace. */
export const RETRY_MODES = ["safe", "always", "never"] as const;

export type RetryMode = (typeof RETRY_MODES)[number];

// Other errors would occur again.
const WORTH_A_RETRY: ReadonlySet<ErrorCode> = new Set(["TIMED_OUT", "AGENT_CRASHED"]);

export type RetryOptions = {
  readonly mode: RetryMode;
  readonly delayMs: number;
  readonly signal: AbortSignal | undefined;
  /** Resolves when no process of the first attempt runs any more */
  readonly end: () => Promise<unknown>;
  /** Finds the changes of the workspace during the first attempt */
  readonly findChanges: () => Promise<WorkspaceChanges>;
};

/**
 * Runs `attempt`, and again after `delayMs` if it timed out or crashed and a retry is safe. `attempt` gets its number, from 1.
 */
export async function withRetry<T>(attempt: (number: number) => Promise<T>, options: RetryOptions): Promise<T> {
  try {
    return await attempt(1);
  } catch (error) {
    if (options.mode === "never" || !(error instanceof BudgieError) || !WORTH_A_RETRY.has(error.code)) throw error;
    await checkSafeToRetry(error, options);
    await sleep(options.delayMs, undefined, { signal: options.signal }).catch((cause: unknown) => {
      throw new BudgieError("CANCELLED", `The turn was cancelled before its second attempt. ${error.message}`, {
        cause,
      });
    });
    return attempt(2);
  }
}

/** Throws `INDETERMINATE` if the first attempt may have done a part of its work, or may still be running. */
async function checkSafeToRetry(failure: BudgieError, { end, mode, signal, findChanges }: RetryOptions): Promise<void> {
  const isEnded = await end().then(
    () => true,
    () => false,
  );
  if (signal?.aborted === true) return;
  if (!isEnded) throw indeterminate(failure, "and it is unknown whether the agent has ended");
  if (mode === "always") return;
  const { count, paths, unknown } = await findChanges();
  if (count === 0 && unknown === undefined) return;
  const what =
    count === 0
      ? `and it is unknown whether the workspace changed during it: ${unknown}`
      : `and the workspace changed during it: ${toList(paths, count)}`;
  throw indeterminate(failure, what, {
    paths,
    hint: `; ${toOption("retry")} can be set to "always", which retries regardless`,
  });
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
    `The agent's progress is indeterminate, so the turn was not retried: its first attempt failed, ${what}. ${failure.message} ` +
      `Look at what was done, and ask again in the same session to continue from there${hint}.`,
    { cause: failure, report: { changedPaths: paths } },
  );
}
