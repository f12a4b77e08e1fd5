import { hashScripts } from "./fingerprint.ts";
import { findFolderKind } from "./find-meaning.ts";
import { findNameKind, type FolderKind, type NameKind } from "./name-kind.ts";

/**
 * The care that a change of a path takes. `never`: of git's own folders; `person`: the host runs or obeys it; `scripts`: the same, if the
 * `scripts` of this `package.json` changed; `told`: builds and editors run it.
 */
export type Guard = "never" | "person" | "scripts" | "told";

// Lists of names in lower case, besides those of `name-kind.ts`.
const STEERING = new Set([
  // Files that steer the host's own agents
  ".cursorrules",
  ".goosehints",
  ".windsurfrules",
  "agents.md",
  "agents.override.md",
  "claude.local.md",
  "claude.md",
  "copilot-instructions.md",
  "gemini.md",
  "qwen.md",
  // Files that git, debuggers, editors and build tools run or read commands from
  ".bazelrc",
  ".dir-locals.el",
  ".exrc",
  ".gdbinit",
  ".lfsconfig",
  ".nvim.lua",
  ".run",
  ".vimrc",
]);
const STEERING_ENDS = [".code-workspace"];
const STEERING_PATHS = [".cargo/config", ".cargo/config.toml"];

const BUILD = new Set([
  ".gitattributes",
  "build.rs",
  "cargo.lock",
  "cmakelists.txt",
  "composer.lock",
  "conftest.py",
  "gemfile.lock",
  "go.sum",
  "makefile",
  "package-lock.json",
  "pnpm-lock.yaml",
  "poetry.lock",
  "setup.py",
  "uv.lock",
  "yarn.lock",
]);
const BUILD_BEGINNINGS = ["eslint.config."];
const BUILD_ENDS = [".gradle", ".gradle.kts"];

/** Finds the care that a change of a path takes; `undefined` if none. `isRepository` tells the folders that git takes for repositories. */
export function findGuard(path: string, isRepository: (folder: string) => boolean): Guard | undefined {
  const names = path.split("/");
  if (hasGitName(path)) return "never";
  const folded = names.map(foldName);
  return findHostGuard(names, folded, isRepository) ?? findNamedGuard(folded.join("/"), folded.at(-1) ?? "");
}

// A path of these characters differs from what file systems compare in its case alone.
const PLAIN = /^[ -~]*$/;

/** Returns true if some file system or some git takes a name of a path for `.git`. */
export function hasGitName(path: string): boolean {
  // Most paths of a tree are decided at once.
  if (PLAIN.test(path) && !/git/i.test(path)) return false;
  return path.split("/").some(isGitName);
}

function isGitName(name: string): boolean {
  // Windows ignores a stream's name, and dots and spaces at the end.
  const shown = trimEnd(foldName(name).split(":")[0] ?? "");
  return shown === ".git" || /^git~\d{1,9}$/.test(shown);
}

/** Returns a name as file systems compare it that ignore case, and characters that are not seen. */
function foldName(name: string): string {
  return name
    .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
    .normalize("NFKC")
    .toLowerCase();
}

/** Returns true if two texts of a `package.json` have the same scripts. */
export function hasSameScripts(one: Buffer, other: Buffer): boolean {
  const [first, second] = [one, other].map((text) => hashScripts(text, { values: 1 }));
  return first === second;
}

function trimEnd(name: string): string {
  let end = name.length;
  while (end > 0 && (name[end - 1] === "." || name[end - 1] === " ")) end -= 1;
  return name.slice(0, end);
}

/** Follows a path through the kinds of its folders, as the watch of executable paths does. */
function findHostGuard(
  names: readonly string[],
  folded: readonly string[],
  isRepository: (folder: string) => boolean,
): Guard | undefined {
  let folder: FolderKind = "plain";
  for (const [index, name] of folded.entries()) {
    if (folder === "plain" && isRepository(names.slice(0, index).join("/"))) folder = "bare";
    const meaning = findNameKind(name, folder);
    if (RUN.has(meaning)) return "person";
    if (meaning === "package" && index === names.length - 1) return "scripts";
    folder = findFolderKind(name, meaning, folder) ?? "rest";
  }
  return undefined;
}

const RUN: ReadonlySet<NameKind> = new Set<NameKind>(["watched", "hooks", "named"]);

function findNamedGuard(path: string, name: string): Guard | undefined {
  const isSteering =
    STEERING.has(name) ||
    STEERING_ENDS.some((end) => name.endsWith(end)) ||
    STEERING_PATHS.some((end) => path === end || path.endsWith(`/${end}`));
  if (isSteering) return "person";
  const isBuild =
    BUILD.has(name) ||
    BUILD_ENDS.some((end) => name.endsWith(end)) ||
    BUILD_BEGINNINGS.some((begin) => name.startsWith(begin));
  return isBuild ? "told" : undefined;
}
