import type { MatchBudget } from "./match-wild-pattern.ts";
import { parseIgnorePattern, type IgnorePattern } from "./parse-ignore-pattern.ts";

/** A list of patterns and the folder that they are about, as a path with a slash at its end; empty for the root. */
type PatternList = { readonly base: string; readonly patterns: readonly IgnorePattern[] };

/** The rules for a folder: lists of patterns, the last of which decides first. */
export type IgnoreRules = readonly PatternList[];

/** The most lines of one list; git has no limit, and nobody has as many. */
const MOST_LINES = 20_000;
export const NO_RULES: IgnoreRules = [];

/** Adds the patterns of a file to those of the folders above. `text` has bytes as latin1; a file with too many lines ignores everything. */
export function addIgnoreFile(rules: IgnoreRules, base: string, text: string): IgnoreRules {
  const lines = text.replace(/^\xEF\xBB\xBF/, "").split("\n");
  const used = lines.length > MOST_LINES ? ["*"] : lines.map(trimEnd);
  const patterns = used.flatMap((line) => parseIgnorePattern(line) ?? []);
  return patterns.length === 0 ? rules : [...rules, { base, patterns: patterns.toReversed() }];
}

/** Removes the carriage return of a line that ends with CR LF, and what follows a NUL, at which git's string ends. */
function trimEnd(line: string): string {
  const [text = ""] = line.split("\0", 1);
  return text.endsWith("\r") ? text.slice(0, -1) : text;
}

/** Returns true if the rules ignore an entry whose parents are not ignored. */
export function isIgnored(
  rules: IgnoreRules,
  { isFolder, path }: { readonly path: string; readonly isFolder: boolean },
  budget: MatchBudget,
): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  for (let index = rules.length - 1; index >= 0; index--) {
    const list = rules[index];
    if (list === undefined || !path.startsWith(list.base)) continue;
    const candidate = { path: path.slice(list.base.length), name, isFolder };
    budget.spend(list.patterns.length);
    const decisive = list.patterns.find((pattern) => pattern.matches(candidate, budget));
    if (decisive !== undefined) return !decisive.isNegated;
  }
  return false;
}
