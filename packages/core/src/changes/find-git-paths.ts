import { join, relative, resolve } from "node:path";
import { openChildFolder, closeFolder, pathIn, type FolderHandle } from "../walk/open-folder.ts";
import { MOST_LEVELS } from "../walk/walk-workspace.ts";
import { findGitFolder, parsePointer } from "../git/find-git-folder.ts";
import { readGitFile } from "../git/read-git-file.ts";
import { parseGitConfig } from "../text/parse-git-config.ts";

/** The paths that a repository's own files make git use, besides fixed ones such as `.git/hooks`. */
export type GitPaths = {
  /** Absolute paths of git folders outside the workspace */
  readonly outside: readonly string[];
  /** Paths below the workspace: named by git's configuration, or a folder on the way to such a path */
  readonly inside: ReadonlyMap<string, "named" | "on-the-way">;
};

/** The paths in a workspace without a repository: none. */
export const NO_GIT_PATHS: GitPaths = { outside: [], inside: new Map() };

/**
 * Finds the paths that the repository at a workspace's root makes git use. A git folder outside counts only if it points back to this
 * workspace: git writes that pointer, and an agent cannot. Otherwise an agent could make budgie list any of the user's folders.
 */
export async function findGitPaths(root: FolderHandle, directory: string): Promise<GitPaths> {
  const git = await openChildFolder(root, Buffer.from(".git")).catch(() => undefined);
  if (git !== undefined) {
    try {
      const configs = await Promise.all(CONFIGS.map((name) => readGitFile(pathIn(git, Buffer.from(name)))));
      return { outside: [], inside: findInside(configs, directory, join(directory, ".git")) };
    } finally {
      closeFolder(git);
    }
  }
  const target = parsePointer(await readGitFile(pathIn(root, Buffer.from(".git"))));
  if (target === undefined) return NO_GIT_PATHS;
  const own = resolve(directory, target);
  return isBelow(own, directory) ? NO_GIT_PATHS : findOutside(own, directory);
}

const CONFIGS = ["config", "config.worktree"];

async function findOutside(own: string, directory: string): Promise<GitPaths> {
  const folder = await findGitFolder(own, directory);
  if (folder === undefined) return NO_GIT_PATHS;
  const { common, config } = folder;
  if (common === own) return { outside: [own], inside: findInside([config], directory, own) };
  const configs = [config, await readGitFile(join(own, "config.worktree"))];
  return { outside: [own, common], inside: findInside(configs, directory, common) };
}

/** Finds the paths in settings that make git read more configuration or run something. Relative ones count from the workspace and from `base`. */
function findInside(configs: readonly string[], directory: string, base: string): GitPaths["inside"] {
  const words = configs
    .flatMap((text) => parseGitConfig(text))
    .flatMap(({ key, value }) => {
      if (PATHS.has(key)) return [value];
      // A command without a slash is looked up in PATH.
      return COMMANDS.has(key) ? value.split(/[\s'";&|()]/).filter((word) => word.includes("/")) : [];
    });
  const inside = new Map<string, "named" | "on-the-way">();
  for (const path of words.flatMap((word) => [resolve(directory, word), resolve(base, word)])) {
    if (!isBelow(path, directory)) continue;
    const names = relative(directory, path).split("/");
    // Each step is a path of its own, and an agent may have written any number.
    const steps = names.slice(0, Math.min(names.length - 1, MOST_LEVELS + 1));
    for (const depth of steps.keys()) inside.set(steps.slice(0, depth + 1).join("/"), "on-the-way");
  }
  for (const path of words.flatMap((word) => [resolve(directory, word), resolve(base, word)])) {
    if (isBelow(path, directory)) inside.set(relative(directory, path), "named");
  }
  return inside;
}

function isBelow(path: string, directory: string): boolean {
  return path.startsWith(`${directory}/`);
}

const PATHS: ReadonlySet<string> = new Set(["include.path", "includeif.path", "core.hookspath", "core.worktree"]);
const COMMANDS: ReadonlySet<string> = new Set([
  "core.askpass",
  "core.editor",
  "core.fsmonitor",
  "core.gitproxy",
  "core.pager",
  "core.sshcommand",
  "credential.helper",
  "diff.command",
  "diff.external",
  "diff.textconv",
  "filter.clean",
  "filter.process",
  "filter.smudge",
  "gpg.program",
  "interactive.difffilter",
  "merge.driver",
  "sequence.editor",
]);
