import type { Cover } from "../policy/hidden-paths.ts";
import { REPOSITORY_PATHS } from "../policy/program-paths.ts";

const FORGES = new Set([".forgejo", ".gitea", ".github"]);
const FORGE_NAMES = new Set(["actions", "workflows", ...listEntries(REPOSITORY_PATHS[".github"])]);

// The files that agents' programs, editors, shells, package managers, git and CI run or read commands from, at any depth.
const WATCHED = new Set([
  ...Object.keys(REPOSITORY_PATHS).filter((path) => !isForge(path)),
  // Folders
  ".buildkite",
  ".circleci",
  ".devcontainer",
  ".githooks",
  ".husky",
  ".idea",
  ".windsurf",
  ".woodpecker",
  ".zed",
  // Files
  ".appveyor.yml",
  ".cirrus.yml",
  ".devcontainer.json",
  ".drone.yml",
  ".envrc",
  ".gitlab-ci.yml",
  ".gitmodules",
  ".lefthook.yml",
  ".mise.toml",
  ".npmrc",
  ".pnpmfile.cjs",
  ".pre-commit-config.yaml",
  ".travis.yml",
  ".woodpecker.yml",
  ".yarnrc",
  ".yarnrc.yml",
  "appveyor.yml",
  "azure-pipelines.yml",
  "bitbucket-pipelines.yml",
  "jenkinsfile",
  "lefthook.yml",
  "mise.toml",
]);

const GIT_FILES = new Set(["commondir", "config", "config.worktree", "gitdir"]);

/** The meaning of a name in a folder: a file that the host runs, a folder that leads to one, or neither. */
export type NameKind =
  | "watched"
  | "git"
  | "hooks"
  | "named"
  | "package"
  | "worktrees"
  | "enter"
  | "on-the-way"
  | "none";

/**
 * The kind of folder that a name is in. `git` is a repository's git folder, `hooks` its hooks, and `worktrees` holds a `worktree` for each.
 * `bare` is any other folder that git would take for a repository. In `rest` only nested repositories count.
 */
export type FolderKind = "plain" | "forge" | "watched" | "git" | "hooks" | "worktrees" | "worktree" | "bare" | "rest";

/** Finds the meaning of `name` in a folder of this kind. Ignores case, as some file systems do. */
export function findNameKind(name: string, folder: FolderKind): NameKind {
  return NAME_KINDS[folder](name.toLowerCase());
}

const NAME_KINDS: Readonly<Record<FolderKind, (name: string) => NameKind>> = {
  plain: findPlainKind,
  forge: (name) => (FORGE_NAMES.has(name) ? "watched" : "none"),
  // Git may enter any folder that its index names.
  watched: (name) => (name === ".git" ? "git" : "watched"),
  git: findGitKind,
  hooks: () => "hooks",
  worktrees: () => "git",
  worktree: findGitKind,
  bare: (name) => (findGitKind(name) === "none" ? findPlainKind(name) : findGitKind(name)),
  rest: (name) => (name === ".git" ? "git" : "none"),
};

/** The names by which git recognises a repository, whatever its folder is called. */
export const GIT_MARKS: ReadonlySet<string> = new Set(["HEAD", "commondir", "objects", "refs"]);

/** Returns true if git takes a folder with these names for a repository, or for a worktree's part of one. */
export function isGitFolder(names: ReadonlySet<string>): boolean {
  return names.has("HEAD") && (names.has("commondir") || (names.has("objects") && names.has("refs")));
}

/** Returns true for a forge's folder, such as `.github`, of which only some entries are run or read as configuration. */
export function isForge(name: string): boolean {
  return FORGES.has(name.toLowerCase());
}

function findPlainKind(name: string): NameKind {
  if (name === ".git") return "git";
  if (name === "package.json") return "package";
  if (WATCHED.has(name)) return "watched";
  return name === "node_modules" ? "none" : "enter";
}

function findGitKind(name: string): NameKind {
  if (name === "hooks") return "hooks";
  if (GIT_FILES.has(name) || name === "rebase-merge") return "watched";
  if (name === "worktrees") return "worktrees";
  return name === "modules" ? "enter" : "none";
}

/**
 * The paths that may be mounted read-only. They lie near the workspace's root, because each mount hinders renaming the folders above it.
 */
export const PROTECTABLE: readonly string[] = [
  ...WATCHED,
  ".git",
  "Jenkinsfile",
  "package.json",
  ...[...FORGES].flatMap((forge) => [...FORGE_NAMES].map((name) => `${forge}/${name}`)),
  ...["hooks", ...GIT_FILES].map((name) => `.git/${name}`),
];

function listEntries(cover: Cover | undefined): readonly string[] {
  return typeof cover === "object" && "entries" in cover ? Object.keys(cover.entries) : [];
}
