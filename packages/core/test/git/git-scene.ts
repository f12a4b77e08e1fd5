import { join } from "node:path";
import type { WorkspaceRules } from "@budgie/core/policy";
import { findGitAccess } from "../../src/git/find-git-access.ts";
import { commit, createRepository, git } from "../changes/executable-repository.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

/** Rules that allow any directory. */
export const ANY: WorkspaceRules = { allowedRoots: [], guarded: undefined };

/** Finds the git of a directory for an agent that may write. */
export function find(
  directory: string,
  { hasSubfolderGit = false, mayWrite = true, rules = ANY, workspace = "/workspace" } = {},
) {
  return findGitAccess(directory, { rules, workspace, mayWrite, hasSubfolderGit });
}

/** Creates a repository with a worktree, and returns the paths of both. */
export function createWorktree() {
  const main = createRepository();
  commit(main);
  const tree = join(createTemporaryFolder(), "tree");
  git(main, "worktree", "add", "--quiet", tree);
  return { main, tree, common: join(main, ".git"), own: join(main, ".git/worktrees/tree") };
}

/** Creates a repository with a submodule, and returns the paths of both and of the submodule's git folder. */
export function createSubmodule() {
  const [main, library] = [createRepository(), createRepository()];
  commit(library);
  git(main, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "vendor/lib");
  return { main, module: join(main, "vendor/lib"), own: join(main, ".git/modules/vendor/lib") };
}
