import type { GitFolders } from "../policy/git-folders.ts";
import type { WorkspaceRules } from "../policy/workspace-rules.ts";

/** The git that a sandbox gets beside its workspace. */
export type GitAccess = {
  /** `undefined` if it needs no folder, or gets none */
  readonly folders?: GitFolders | undefined;
  /** The reason why git does not work, or cannot write, and a remedy */
  readonly notice?: string | undefined;
};

export type GitAccessOptions = {
  readonly rules: WorkspaceRules;
  /** The workspace's path in the sandbox */
  readonly workspace: string;
  /** True if the agent may write to its workspace */
  readonly mayWrite: boolean;
  /** True if the user's settings give a subfolder of a repository a git of its own; default false */
  readonly hasSubfolderGit?: boolean | undefined;
};

/** Returns the access of a sandbox in which git does not work, with the reason as the rest of a sentence. */
export function refused(why: string): GitAccess {
  return { notice: `git does not work in the sandbox: ${why}.` };
}
