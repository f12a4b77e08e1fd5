import { isIgnored, type IgnoreRules } from "../rules/ignore-rules.ts";
import type { MatchBudget } from "../rules/match-wild-pattern.ts";
import type { TrackedPaths } from "../git/read-index.ts";
import { isDependencyFolder } from "./is-dependency-folder.ts";
import { isSecretName } from "./is-secret-name.ts";
import type { LeftOutReason } from "./left-out.ts";
import type { CopyFiles } from "./selection.ts";

/**
 * The state of a folder: everything in it counts if nothing ignores it (`open`), all of it (`whole`), or only what is tracked or included
 * (`sparse`).
 */
export type FolderState = "open" | "whole" | "sparse";

/** The rules for one repository in a copied directory. */
export type Judge = {
  readonly files: CopyFiles;
  readonly tracked: TrackedPaths;
  /** The folders that have tracked files below */
  readonly trackedFolders: ReadonlySet<string>;
  readonly include: IgnoreRules;
  readonly exclude: IgnoreRules;
  readonly fold: (text: string) => string;
  readonly budget: MatchBudget;
};

/** An entry to judge; its paths are bytes in latin1. */
export type Judged = {
  readonly name: string;
  /** The path in its repository, as the index has it */
  readonly gitPath: string;
  /** The path in the copied directory */
  readonly path: string;
  readonly isFolder: boolean;
  readonly state: FolderState;
  readonly rules: IgnoreRules;
};

/** Decides whether a copy gets an entry, and for a folder what of it. */
export function judgeEntry(
  judge: Judge,
  entry: Judged,
): { readonly state: FolderState } | { readonly leftOut: LeftOutReason } {
  if (isNamed(judge, judge.exclude, entry)) return { leftOut: "excluded" };
  return entry.isFolder ? judgeFolder(judge, entry) : judgeFile(judge, entry);
}

function judgeFolder(judge: Judge, entry: Judged): ReturnType<typeof judgeEntry> {
  const hidden = findHidden(judge, entry);
  if (hidden === undefined) return { state: entry.state };
  if (isNamed(judge, judge.include, entry)) return { state: "whole" };
  const hasWanted = judge.trackedFolders.has(entry.gitPath) || judge.include.length > 0;
  if (hidden === "ignored" && entry.state === "open" && isDependencyFolder(entry.name)) return { state: "whole" };
  return hasWanted ? { state: "sparse" } : { leftOut: hidden };
}

function judgeFile(judge: Judge, entry: Judged): ReturnType<typeof judgeEntry> {
  if (judge.tracked.files.has(entry.gitPath)) return entry;
  if (isNamed(judge, judge.include, entry)) return entry;
  const hidden = findHidden(judge, entry);
  if (hidden !== undefined) return { leftOut: hidden };
  return isSecretName(entry.name) ? { leftOut: "secret" } : entry;
}

/** Finds the reason why an untracked entry stays out, apart from its name. */
function findHidden(judge: Judge, entry: Judged): "ignored" | "untracked" | undefined {
  if (entry.state === "whole" || judge.files === "all") return undefined;
  if (judge.files === "tracked") return "untracked";
  if (entry.state === "sparse") return "ignored";
  const path = judge.fold(entry.gitPath);
  return isIgnored(entry.rules, { path, isFolder: entry.isFolder }, judge.budget) ? "ignored" : undefined;
}

function isNamed({ budget }: Judge, rules: IgnoreRules, { isFolder, path }: Judged): boolean {
  return rules.length > 0 && isIgnored(rules, { path, isFolder }, budget);
}
