import { BudgieError } from "./errors.ts";
import { watchExecutablePaths } from "./executable-paths/watch-executable-paths.ts";
import type { Reply } from "./turn.ts";

/** Tells what a turn, however it ended, did to the files that the host runs by itself. */
export async function reportingChanges<Answer extends Pick<Reply, "warnings">>(
  directory: string,
  turn: (ready: Promise<unknown>) => Promise<Answer>,
): Promise<Answer & Pick<Reply, "changedExecutablePaths">> {
  const watch = watchExecutablePaths(directory);
  try {
    const reply = await turn(watch.ready);
    const { changedExecutablePaths, warnings } = await watch.toChanges();
    return { ...reply, changedExecutablePaths, warnings: [...reply.warnings, ...warnings] };
  } catch (error) {
    if (error instanceof BudgieError) error.changedExecutablePaths = (await watch.toChanges()).changedExecutablePaths;
    throw error;
  }
}
