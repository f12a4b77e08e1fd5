import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import type { GitFolders } from "../policy/git-folders.ts";
import { isWithin } from "../policy/is-within.ts";
import { findRefusal, type WorkspaceRules } from "../policy/workspace-rules.ts";
import { parseGitConfig } from "../text/parse-git-config.ts";
import { findGitFolder, parsePointer, type GitFolder } from "./find-git-folder.ts";
import { findWritable, hasAll } from "./find-writable.ts";
import { MOST_BYTES, readGitFile } from "./read-git-file.ts";

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
};

/**
 * Finds the git folders of a worktree or submodule. They count only if they name the directory back, and lie where a call could work.
 * Reads files as data, of each at most 64 KiB, and runs no git.
 */
export async function findGitAccess(directory: string, options: GitAccessOptions): Promise<GitAccess> {
  const file = join(directory, ".git");
  const found = await lstat(file).catch(() => undefined);
  if (found === undefined) return explainSubfolder(directory, options);
  if (found.isDirectory()) return {};
  const text = await readGitFile(file);
  const target = parsePointer(text);
  if (target === undefined || text.length > LONGEST_POINTER) {
    return refused(`"${directory}/.git" is neither a folder nor a file that git writes`);
  }
  const own = resolve(directory, target);
  // A relative path in the workspace leads there in the sandbox too.
  if (isWithin(own, directory) && !isAbsolute(target)) return {};
  const why = await findFault(own, directory, options);
  // Quoted with escapes, since an agent may have written it.
  if (why !== undefined) return refused(`"${directory}/.git" names ${JSON.stringify(own)}, ${why}`);
  return toAccess(own, directory, options);
}

// Linux has no longer paths.
const LONGEST_POINTER = 4096 + "gitdir: \n".length;

function refused(why: string): GitAccess {
  return { notice: `git does not work in the sandbox: ${why}.` };
}

/** Explains what a subfolder of a repository lacks. */
async function explainSubfolder(directory: string, { rules }: GitAccessOptions): Promise<GitAccess> {
  for (let folder = dirname(directory); ; folder = dirname(folder)) {
    if (await hasAll(folder, [".git"])) {
      const why = `"${directory}" is a part of the repository "${folder}", of which the sandbox gets nothing else`;
      const isRefused = (await findRefusal(folder, rules)) !== undefined;
      return refused(
        isRefused
          ? why
          : `${why}. Call with "${folder}", or with a worktree of it, which may be sparse, if the agent needs git`,
      );
    }
    if (folder === dirname(folder)) return {};
  }
}

/** Finds the reason why a sandbox does not get a git folder, as the rest of a sentence about it. */
async function findFault(own: string, directory: string, options: GitAccessOptions): Promise<string | undefined> {
  const repository = findRepository(own);
  const refusal = await findRefusal(repository, options.rules);
  if (refusal !== undefined) return `and ${JSON.stringify(repository)} ${refusal.what}`;
  if ((await realpath(own).catch(() => undefined)) !== own) return "which is missing, or reached by a symlink";
  const folder = await findGitFolder(own, directory);
  if (folder === undefined) return "which does not name this directory back";
  // The workspace itself is there.
  if (isWithin(folder.common, options.workspace)) return "a path that the sandbox has for something else";
  return findShapeFault(own, folder);
}

/** Finds the reason why a folder that names the directory back is none of git's, or none that works alone. */
async function findShapeFault(own: string, folder: GitFolder): Promise<string | undefined> {
  const { common } = folder;
  if (!isUsual(own, folder) || !(await hasAll(common, ["HEAD", "config", "objects", "refs"]))) {
    return "where git does not put it";
  }
  const shared = (await readGitFile(join(own, "commondir"))).trimEnd();
  const needsNone = own === common && !(await hasAll(own, ["commondir"]));
  if (!needsNone && (shared === "" || resolve(own, shared) !== common)) return 'whose "commondir" names another folder';
  if ((await readGitFile(join(common, "objects/info/alternates"))).trim() !== "") {
    return "which takes objects from a folder that the sandbox does not get (objects/info/alternates)";
  }
  return undefined;
}

/** Returns the directory to which the rules for directories apply. A git folder of another name than `.git` is one itself. */
function findRepository(own: string): string {
  const names = own.split("/");
  const index = names.indexOf(".git");
  if (index !== -1) return names.slice(0, index).join("/") || "/";
  return basename(dirname(own)) === "worktrees" ? dirname(dirname(own)) : own;
}

/** Returns true for a place of git's own. Any other folder could be a project in which an agent imitates one. */
function isUsual(own: string, { common, config }: GitFolder): boolean {
  const [, inGit] = own.split("/.git/", 2);
  if (common === own) return inGit !== undefined && `/${dirname(inGit)}/`.includes("/modules/");
  return (
    basename(common) === ".git" ||
    parseGitConfig(config).some(({ key, value }) => key === "core.bare" && value === "true")
  );
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
