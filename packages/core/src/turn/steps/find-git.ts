import { findGitAccess } from "../../git/find-git-access.ts";
import { usesCopy } from "../../workspace-access.ts";
import type { TurnSettings } from "../turn-settings.ts";
import type { Step } from "../turn.ts";

/** Finds the git of a worktree, submodule or subfolder for an agent in a sandbox; elsewhere the directory's own git works. */
export function findGit(settings: Pick<TurnSettings, "hasSubfolderGit" | "workspaceRules">): Step {
  return async (turn, next) => {
    const { mayWrite, request, route, session } = turn;
    const { directory, policy } = request;
    if (route.runner.isolation === "container") {
      const { workspace } = session.home.paths(directory);
      // The repository's directory is around that of the workspace in the sandbox too, and a copy has a git of its own or none.
      const isAround = session.workspacePath === "same" && !usesCopy(policy.workspace);
      const hasSubfolderGit = isAround && settings.hasSubfolderGit(directory);
      turn.git = await findGitAccess(directory, {
        rules: settings.workspaceRules,
        workspace,
        mayWrite,
        hasSubfolderGit,
      });
    }
    return next();
  };
}
