import { findGitAccess } from "../../git/find-git-access.ts";
import type { TurnSettings } from "../turn-settings.ts";
import type { Step } from "../turn.ts";

/** Finds the git of a worktree or submodule for an agent in a sandbox; elsewhere the directory's own git works. */
export function findGit({ workspaceRules: rules }: Pick<TurnSettings, "workspaceRules">): Step {
  return async (turn, next) => {
    const { mayWrite, request, route, session } = turn;
    if (route.runner.isolation === "container") {
      const { workspace } = session.home.paths(request.directory);
      turn.git = await findGitAccess(request.directory, { rules, workspace, mayWrite });
    }
    return next();
  };
}
