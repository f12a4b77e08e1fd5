/** The git of a worktree or a submodule: folders outside its workspace, which a sandbox shows at their own paths. */
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
};
