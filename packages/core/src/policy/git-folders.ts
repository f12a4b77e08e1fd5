/** The git folders outside a workspace: those of a worktree or a submodule, or of the repository around a subfolder. */
export type GitFolders = {
  /** The workspace's own folder, in `common` or the same; the `.git` file in the sandbox names it */
  readonly own: string;
  /** The folder that a worktree shares with the others; for a submodule `own` */
  readonly common: string;
  /** The paths in a read-only `common` that a process may write, parents first; `common` itself is "" */
  readonly writable: readonly string[];
  /** The existing paths in the writable ones that stay read-only */
  readonly guarded: readonly string[];
  /** The configuration of a submodule, to which a sandbox adds the workspace's path; `undefined` for a worktree */
  readonly config: string | undefined;
  /**
   * The directory of the repository that the workspace is a subfolder of. The sandbox's git is then the session's own, which takes objects
   * from `common`, and nothing is writable; default: the workspace is no subfolder
   */
  readonly around?: string | undefined;
};
