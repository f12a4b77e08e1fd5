import { lstat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { findGitFolder, parsePointer, readGitFile } from "@budgie/core/git";

/** The git folders of a repository, or of a worktree or submodule. */
export type OwnFolder = {
  /** The folder with HEAD and index */
  readonly own: string;
  /** The folder with objects and configuration; for all but worktrees `own` */
  readonly common: string;
  readonly kind: "folder" | "pointer" | "none";
};

/** Finds the git folder of a repository's root. A pointer counts only if the folder names the root back, as for a sandbox's mounts. */
export async function findOwnFolder(root: string): Promise<OwnFolder> {
  const git = join(root, ".git");
  const found = await lstat(git).catch(() => undefined);
  if (found?.isDirectory() === true) return { own: git, common: git, kind: "folder" };
  const target = found?.isFile() === true ? parsePointer(await readGitFile(git)) : undefined;
  if (target === undefined) return { own: git, common: git, kind: "none" };
  const own = resolve(root, target);
  const folder = await findGitFolder(own, root);
  return folder === undefined
    ? { own: git, common: git, kind: "none" }
    : { own, common: dirname(join(folder.common, "HEAD")), kind: "pointer" };
}
