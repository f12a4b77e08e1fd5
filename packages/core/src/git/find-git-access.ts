import { lstat } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { isWithin } from "../policy/is-within.ts";
import { refused, type GitAccess, type GitAccessOptions } from "./git-access.ts";
import { findGitFault } from "./find-git-fault.ts";
import { findGitFolder, parsePointer } from "./find-git-folder.ts";
import { findSubfolderGit } from "./find-subfolder-git.ts";
import { findWritable, hasAll } from "./find-writable.ts";
import { MOST_BYTES, readGitFile } from "./read-git-file.ts";

/**
 * Finds the git folders of a worktree or submodule. They count only if they name the directory back, and lie where a call could work.
 * Reads files as data, of each at most 64 KiB, and runs no git.
 */
export async function findGitAccess(directory: string, options: GitAccessOptions): Promise<GitAccess> {
  const file = join(directory, ".git");
  const found = await lstat(file).catch(() => undefined);
  if (found === undefined) {
    const around = await findAround(directory);
    return around === undefined ? {} : findSubfolderGit(directory, { ...options, around });
  }
  if (found.isDirectory()) return {};
  const text = await readGitFile(file);
  const target = parsePointer(text);
  if (target === undefined || text.length > LONGEST_POINTER) {
    return refused(`"${directory}/.git" is neither a folder nor a file that git writes`);
  }
  const own = resolve(directory, target);
  // A relative path in the workspace leads there in the sandbox too.
  if (isWithin(own, directory) && !isAbsolute(target)) return {};
  const why = await findGitFault(own, directory, options);
  // Quoted with escapes, since an agent may have written it.
  if (why !== undefined) return refused(`"${directory}/.git" names ${JSON.stringify(own)}, ${why}`);
  return toAccess(own, directory, options);
}

// Linux has no longer paths.
const LONGEST_POINTER = 4096 + "gitdir: \n".length;

async function findAround(directory: string): Promise<string | undefined> {
  for (let folder = dirname(directory); ; folder = dirname(folder)) {
    if (await hasAll(folder, [".git"])) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

async function toAccess(own: string, directory: string, { mayWrite }: GitAccessOptions): Promise<GitAccess> {
  const folder = await findGitFolder(own, directory);
  if (folder === undefined || folder.config.length >= MOST_BYTES) return refused("its configuration is too large");
  const { common, config } = folder;
  const shown = { own, common, config: common === own ? config : undefined };
  if (!mayWrite) return { folders: { ...shown, writable: [], guarded: [] } };
  const { commands, link, ...places } = await findWritable(relative(common, own), folder);
  if (link !== undefined)
    return refused(`${JSON.stringify(link)} is a symlink, and the sandbox gets none of git's folders by one`);
  if (commands.length === 0) return { folders: { ...shown, ...places } };
  return {
    folders: { ...shown, writable: [], guarded: [] },
    notice:
      `git is read-only in the sandbox, since an agent could otherwise add to ${JSON.stringify(common)} what your own git obeys. ` +
      `To let agents commit, run once: ${commands.join(" && ")}`,
  };
}
