import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { UNCHANGED, watchWorkspace, type WorkspaceWatch } from "../../changes/watch-workspace.ts";
import { BudgieError, type ErrorCode } from "../../errors.ts";
import { formatOption } from "../../option-name.ts";
import type { ProtocolAnswer } from "../../protocol/protocol.ts";
import type { TurnSettings } from "../turn-settings.ts";
import type { Step, Turn } from "../turn.ts";

// Other errors would occur again.
const WORTH_A_RETRY: ReadonlySet<ErrorCode> = new Set(["TIMED_OUT", "AGENT_CRASHED"]);

/** Runs the steps behind it again if the first attempt timed out or crashed, and a second is safe. */
export function retryOnce(
  { retry, retryDelayMs }: Pick<TurnSettings, "retry" | "retryDelayMs">,
  watch: (directory: string) => WorkspaceWatch = watchWorkspace,
): Step {
  return async (turn, next) => {
    const watched = retry === "safe" && turn.mayWrite ? listWritable(turn).map((path) => watch(path)) : undefined;
    turn.ready.push(...(watched ?? []).map(({ ready }) => ready));
    const mode = retry === "safe" && isUnseen(turn) ? "never" : retry;
    const attempt = (): Promise<ProtocolAnswer> => {
      turn.attempts++;
      return next();
    };
    try {
      return await attempt();
    } catch (error) {
      if (mode === "never" || !(error instanceof BudgieError) || !WORTH_A_RETRY.has(error.code)) throw error;
      await checkSafeToRetry(turn, error, watched);
      await sleep(retryDelayMs, undefined, { signal: turn.signal }).catch((cause: unknown) => {
        throw new BudgieError("CANCELLED", `The turn was cancelled before its second attempt. ${error.message}`, {
          cause,
        });
      });
      return await attempt();
    }
  };
}

/** Returns true if budgie cannot see what an attempt did: elsewhere, or on a copy. */
function isUnseen({ request, route }: Turn): boolean {
  return route.runner.isolation === "remote" || request.policy.workspace === "copy";
}

/** Lists the directory, and what else an attempt may write: a commit may change nothing in the directory. */
function listWritable({ git: { folders }, request: { directory } }: Turn): readonly string[] {
  // New objects alone are no progress, and there may be very many.
  const names = folders?.writable.filter((name) => name !== "objects") ?? [];
  return [directory, ...names.map((name) => join(folders?.common ?? "", name))];
}

/** Throws `INDETERMINATE` if the first attempt may have done a part of its work, or may still be running. */
async function checkSafeToRetry(
  turn: Turn,
  failure: BudgieError,
  watched: readonly WorkspaceWatch[] | undefined,
): Promise<void> {
  const isEnded = await Promise.all(turn.processes.map((child) => child.stop("shutdown"))).then(
    () => true,
    () => false,
  );
  if (turn.signal?.aborted === true) return;
  if (!isEnded) throw indeterminate(failure, "and it is unknown whether the agent has ended");
  if (watched === undefined) return;
  const found = await Promise.all(watched.map((one) => one.findChanges()));
  const { count, paths, unknown } = found.find((one) => one.count > 0 || one.unknown !== undefined) ?? UNCHANGED;
  if (count === 0 && unknown === undefined) return;
  const what =
    count === 0
      ? `and it is unknown whether the workspace changed during it: ${unknown}`
      : `and the workspace changed during it: ${formatList(paths, count)}`;
  throw indeterminate(failure, what, {
    paths,
    hint: `; ${formatOption("retry")} can be set to "always", which retries regardless`,
  });
}

const MOST_NAMED = 10;

function formatList(paths: readonly string[], count: number): string {
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
