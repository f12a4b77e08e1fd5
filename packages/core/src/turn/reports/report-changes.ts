import { MOST_PATHS, watchExecutablePaths, type ExecutableWatch } from "../../changes/watch-executable-paths.ts";
import { BudgieError } from "../../errors.ts";
import { formatOption } from "../../option-name.ts";
import { isReadOnly, usesCopy } from "../../workspace-access.ts";
import { formatLeft } from "../left-changes.ts";
import type { TurnSettings } from "../turn-settings.ts";
import type { Step, Turn } from "../turn.ts";

/** Reports the changed files that the host runs by itself. Throws `GIT_REDIRECTED` for a protected turn that redirected git. */
export function reportChanges(settings: Pick<TurnSettings, "leftWatch" | "protectExecutablePaths" | "watch">): Step {
  const { leftWatch, protectExecutablePaths, watch = watchExecutablePaths } = settings;
  return async (turn, next) => {
    const { directory, policy } = turn.request;
    // An agent that runs elsewhere, or on a copy, does not get the directory.
    const isWatched = turn.route.runner.isolation !== "remote" && !usesCopy(policy.workspace);
    const watched = isWatched ? watch(directory, undefined, leftWatch.resume(turn.session)) : UNWATCHED;
    turn.ready.push(watched.ready);

    async function report() {
      const { changedExecutablePaths, files, warnings, ...found } = await watched.findChanges();
      turn.report.changedFiles = files;
      const left = await leftWatch.take(directory);
      const paths = new Set([...changedExecutablePaths, ...left.flatMap(({ paths: others }) => others)]);
      turn.report.changedExecutablePaths = [...paths].slice(0, MOST_PATHS);
      turn.warn(...warnings, ...left.map(formatLeft));
      return found;
    }

    const answer = await next().catch(async (error: unknown) => {
      await report();
      throw error;
    });
    const { gitChanges, state } = await report();
    if (protectExecutablePaths && isWatched && gitChanges.length > 0) throw redirectedError(turn, gitChanges, answer);
    const { kept } = answer;
    if (kept !== undefined && state !== undefined && !isReadOnly(policy.workspace)) {
      leftWatch.follow(turn.session, { state, process: kept });
    }
    return answer;
  };
}

const UNWATCHED: ExecutableWatch = {
  ready: Promise.resolve(),
  findChanges: async () => ({ changedExecutablePaths: [], gitChanges: [], warnings: [] }),
};

const MOST_NAMED = 5;

function redirectedError(
  { request: { directory } }: Turn,
  gitChanges: readonly string[],
  { response }: { readonly response: string },
): BudgieError {
  const named = gitChanges.slice(0, MOST_NAMED).join(" ");
  return new BudgieError(
    "GIT_REDIRECTED",
    `The turn redirected git by paths that ${formatOption("protectExecutablePaths")} cannot protect. ${named} ` +
      `Run no git in "${directory}" or below before you have looked at these paths, and removed or restored them.`,
    { report: { response } },
  );
}
