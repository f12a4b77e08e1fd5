import { BudgieError } from "../errors.ts";
import {
  watchExecutablePaths,
  type ExecutableChanges,
  type ExecutableWatch,
} from "../changes/watch-executable-paths.ts";
import type { Reply } from "./turn.ts";

export type ReportingOptions = {
  readonly directory: string;
  /** Whether a turn fails that redirects git */
  readonly isProtected: boolean;
  /** Default {@link watchExecutablePaths} */
  readonly watch?: WatchDirectory | undefined;
};

/** Begins to look at a directory, for what a turn leaves in it. */
export type WatchDirectory = (directory: string) => ExecutableWatch;

/** Adds a turn's changes of files that the host runs to its reply or its error. Throws `GIT_REDIRECTED` as {@link ReportingOptions} say. */
export async function reportingChanges<Answer extends Pick<Reply, "response" | "warnings">>(
  { directory, isProtected, watch: toWatch = watchExecutablePaths }: ReportingOptions,
  turn: (ready: Promise<unknown>) => Promise<Answer>,
): Promise<Answer & Pick<Reply, "changedExecutablePaths">> {
  const watch = toWatch(directory);
  const reply = await turn(watch.ready).catch(async (error: unknown) => {
    if (error instanceof BudgieError) note(error, await watch.toChanges());
    throw error;
  });
  const changes = await watch.toChanges();
  if (isProtected && changes.gitChanges.length > 0) {
    throw Object.assign(note(redirected(directory, changes), changes), { response: reply.response });
  }
  const { changedExecutablePaths, warnings } = changes;
  return { ...reply, changedExecutablePaths, warnings: [...reply.warnings, ...warnings] };
}

function note(error: BudgieError, { changedExecutablePaths, warnings }: ExecutableChanges): BudgieError {
  error.changedExecutablePaths = changedExecutablePaths;
  error.warnings = warnings;
  return error;
}

const MOST_NAMED = 5;

function redirected(directory: string, { gitChanges }: ExecutableChanges): BudgieError {
  const named = gitChanges.slice(0, MOST_NAMED).join(" ");
  return new BudgieError(
    "GIT_REDIRECTED",
    `The turn redirected git by paths that --protect-executable-paths cannot protect. ${named} ` +
      `Run no git in "${directory}" or below before you have looked at these paths, and removed or restored them.`,
  );
}
