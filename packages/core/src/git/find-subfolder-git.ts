import { lstat } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { findRefusal } from "../policy/workspace-rules.ts";
import { parseGitConfig } from "../text/parse-git-config.ts";
import { refused, type GitAccess, type GitAccessOptions } from "./git-access.ts";
import { findGitFault, hasAlternates } from "./find-git-fault.ts";
import { findGitFolder, parsePointer, type GitFolder } from "./find-git-folder.ts";
import { hasAll } from "./find-writable.ts";
import { MOST_BYTES, readGitFile } from "./read-git-file.ts";

export type SubfolderOptions = Pick<GitAccessOptions, "hasSubfolderGit" | "rules" | "workspace"> & {
  /** The directory of the repository */
  readonly around: string;
};

/**
 * Finds what the git of a repository's subfolder needs: a git of the session's own, which takes objects from the repository. Without the
 * user's settings it gets none, since the objects show the whole repository.
 */
export async function findSubfolderGit(directory: string, options: SubfolderOptions): Promise<GitAccess> {
  const { around, hasSubfolderGit, rules } = options;
  const what = `"${directory}" is a part of the repository "${around}"`;
  const refusal = await findRefusal(around, rules);
  if (hasSubfolderGit !== true) {
    const remedy = `. Call with "${around}", or with a worktree of it, which may be sparse, if the agent needs git`;
    return refused(`${what}, of which the sandbox gets nothing else${refusal === undefined ? remedy : ""}`);
  }
  if (refusal !== undefined) return refused(`${what}, which ${refusal.what}`);
  const found = await findGit(options);
  if (typeof found === "string") return refused(`${what}, ${found}`);
  // A pattern has one line.
  if (/\p{Cc}/u.test(relative(around, directory))) return refused(`${what}, and its path has a control character`);
  return {
    folders: { ...found, config: undefined, writable: [], guarded: [], around },
    notice:
      `git in the sandbox is the session's own, since ${what}: it begins at your HEAD, and its commits reach no branch of yours. ` +
      `"budgie sessions bundle SESSION" brings them to you.`,
  };
}

type Found = { readonly own: string; readonly common: string };

/** Finds the git folders of a repository, or the reason why there are none, as the rest of a sentence. */
async function findGit(options: SubfolderOptions): Promise<Found | string> {
  const git = join(options.around, ".git");
  if ((await lstat(git)).isDirectory()) {
    const config = await readGitFile(join(git, "config"));
    return (await findFolderFault(git)) ?? findUnsuited(config) ?? { own: git, common: git };
  }
  const pointer = parsePointer(await readGitFile(git));
  if (pointer === undefined) return 'whose ".git" is neither a folder nor a file that git writes';
  const own = resolve(options.around, pointer);
  const fault = await findGitFault(own, options.around, { ...options, mayWrite: false });
  if (fault !== undefined) return `whose ".git" names ${JSON.stringify(own)}, ${fault}`;
  const folder = await findGitFolder(own, options.around);
  if (folder === undefined) return 'whose ".git" changed meanwhile';
  return findUnsuited(folder.config) ?? { own, common: folder.common };
}

async function findFolderFault(git: string): Promise<string | undefined> {
  if (!(await hasAll(git, ["HEAD", "config", "objects", "refs"])) || (await hasAll(git, ["commondir"]))) {
    return 'whose ".git" is none that git makes';
  }
  return (await hasAlternates(git)) ? "which takes objects from another (objects/info/alternates)" : undefined;
}

/** Finds a setting by which a repository keeps its objects or references in another form than most. */
function findUnsuited(config: GitFolder["config"]): string | undefined {
  if (config.length >= MOST_BYTES) return "whose configuration is too large";
  const usual: Readonly<Record<string, string>> = { objectformat: "sha1", refstorage: "files", partialclone: "" };
  const found = parseGitConfig(config).find(({ key, value }) => {
    const [section, name = ""] = key.split(".");
    return section === "extensions" && name in usual && usual[name] !== value;
  });
  return found && `whose setting "${found.key}" is "${found.value}"`;
}
