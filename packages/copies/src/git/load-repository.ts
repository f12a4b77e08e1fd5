import { lstat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { readUnchecked } from "@budgie/core/text";
import { addIgnoreFile, NO_RULES, type IgnoreRules } from "../rules/ignore-rules.ts";
import { findRepository } from "./find-repository.ts";
import { readIndex, LARGEST_INDEX_BYTES, type TrackedPaths } from "./read-index.ts";
import { readSmallFile } from "./read-small-file.ts";
import { findSetting, readSettings, type ConfigSetting } from "./read-settings.ts";
import { findOwnFolder } from "./find-own-folder.ts";

/** The files of the user's that say what git ignores everywhere. */
export type UserGit = {
  /** Files of settings, the last of which decides; missing ones are ignored */
  readonly configs: readonly string[];
  /** The file of patterns if no setting names another */
  readonly excludes: string;
  /** The folder that `~` stands for */
  readonly home: string;
};

/** The part of git's knowledge of a directory that decides what a copy gets. */
export type RepositoryFacts = {
  /** The directory's path in the repository with a slash at its end; empty for its root */
  readonly prefix: string;
  readonly rules: IgnoreRules;
  readonly tracked: TrackedPaths;
  /** Folds names and patterns where the repository ignores case */
  readonly fold: (text: string) => string;
  readonly notes: readonly string[];
};

/** Reads what git tracks and ignores in a directory, as data; runs no git. */
export async function loadRepository(directory: string, user: UserGit): Promise<RepositoryFacts> {
  const repository = await findRepository(directory);
  if (repository === undefined) return NO_REPOSITORY;
  const { prefix, root } = repository;
  const { common, own } = await findOwnFolder(root);
  const settings = readSettings(readText(join(common, "config")));
  const fold = findSetting(settings, "core.ignorecase") === "true" ? foldCase : (text: string): string => text;
  const tracked = await loadTracked(join(own, "index"), settings);
  const global = readText(findExcludes(settings, root, user));
  let rules = addIgnoreFile(NO_RULES, "", fold(global));
  rules = addIgnoreFile(rules, "", fold(readText(join(common, "info/exclude"))));
  for (const base of listBases(prefix)) {
    const file = join(root, Buffer.from(base, "latin1").toString("utf8"), ".gitignore");
    rules = addIgnoreFile(rules, fold(base), fold(readText(file)));
  }
  return { prefix, rules, fold, tracked: tracked ?? NOTHING, notes: tracked === undefined ? [UNREAD] : [] };
}

const NOTHING: TrackedPaths = { files: new Set(), submodules: new Set() };
const NO_REPOSITORY: RepositoryFacts = {
  prefix: "",
  rules: NO_RULES,
  tracked: NOTHING,
  fold: (text) => text,
  notes: [],
};
const UNREAD =
  "git's index could not be read, so that files stay out that are ignored or named like secrets, even if git tracks them.";

/** Folds ASCII alone: other bytes of latin1 are parts of characters. */
function foldCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** Lists the folders above a directory in its repository, from the root: "", "a/". */
function listBases(prefix: string): readonly string[] {
  const names = prefix.split("/").slice(0, -1);
  return names.map((_, index) =>
    names
      .slice(0, index)
      .map((name) => `${name}/`)
      .join(""),
  );
}

/** Reads a file as bytes in latin1; empty if it cannot be read. */
function readText(path: string): string {
  try {
    return readUnchecked(path).bytes.toString("latin1");
  } catch {
    return "";
  }
}

/** Resolves to `undefined` if there is an index that cannot be read. */
async function loadTracked(path: string, settings: readonly ConfigSetting[]): Promise<TrackedPaths | undefined> {
  const isThere = (await lstat(path).catch(() => undefined)) !== undefined;
  if (!isThere) return NOTHING;
  const index = await readSmallFile(path, LARGEST_INDEX_BYTES);
  const isLong = findSetting(settings, "extensions.objectformat")?.toLowerCase() === "sha256";
  return index === undefined || index === "too-large" ? undefined : readIndex(index, isLong ? 32 : 20);
}

function findExcludes(settings: readonly ConfigSetting[], root: string, user: UserGit): string {
  const all = [...user.configs.flatMap((file) => readSettings(readText(file))), ...settings];
  const path = Buffer.from(findSetting(all, "core.excludesfile") ?? "", "latin1").toString("utf8");
  if (path === "") return user.excludes;
  return path.startsWith("~/") ? join(user.home, path.slice(2)) : resolve(root, path);
}
