import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { isWithin } from "../policy/is-within.ts";
import { findRefusal } from "../policy/workspace-rules.ts";
import { parseGitConfig } from "../text/parse-git-config.ts";
import type { GitAccessOptions } from "./git-access.ts";
import { findGitFolder, type GitFolder } from "./find-git-folder.ts";
import { hasAll } from "./find-writable.ts";
import { readGitFile } from "./read-git-file.ts";

/** Finds the reason why a sandbox does not get a git folder, as the rest of a sentence about it. */
export async function findGitFault(
  own: string,
  directory: string,
  options: GitAccessOptions,
): Promise<string | undefined> {
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
  if (await hasAlternates(common)) {
    return "which takes objects from a folder that the sandbox does not get (objects/info/alternates)";
  }
  return undefined;
}

/** Returns true if a git folder takes objects from another repository. */
export async function hasAlternates(common: string): Promise<boolean> {
  return (await readGitFile(join(common, "objects/info/alternates"))).trim() !== "";
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
