import { basename, dirname, join, resolve } from "node:path";
import { parseGitConfig } from "../text/parse-git-config.ts";
import { readGitFile } from "./read-git-file.ts";

/** The folder that the `.git` file of a worktree or submodule names. */
export type GitFolder = {
  /** The folder that a worktree shares with the others; for a submodule its own */
  readonly common: string;
  /** The first 64 KiB of the configuration in it */
  readonly config: string;
};

/**
 * Looks into the folder `own`, which the `.git` file of a directory names; `undefined` unless it names that directory back: git writes such a
 * pointer, and an agent in the directory cannot.
 */
export async function findGitFolder(own: string, directory: string): Promise<GitFolder | undefined> {
  const parent = dirname(own);
  const back = (await readGitFile(join(own, "gitdir"))).trim();
  // git 2.48 can also write a relative path.
  if (basename(parent) === "worktrees" && back !== "" && resolve(own, back) === join(directory, ".git")) {
    const common = dirname(parent);
    return { common, config: await readGitFile(join(common, "config")) };
  }
  const config = await readGitFile(join(own, "config"));
  const worktree = parseGitConfig(config).findLast(
    ({ hasSubsection, key }) => key === "core.worktree" && !hasSubsection,
  );
  return worktree !== undefined && resolve(own, worktree.value) === directory ? { common: own, config } : undefined;
}

/** Parses the first line of a `.git` file; `undefined` if git did not write it. */
export function parsePointer(text: string): string | undefined {
  return /^gitdir: (.*)/.exec(text)?.[1]?.trim();
}
