import { compileWildPattern } from "./compile-wild-pattern.ts";
import { matchWildPattern, type MatchBudget } from "./match-wild-pattern.ts";

/** An entry, by its path below the folder of the list of patterns, as bytes in latin1. */
type Candidate = { readonly path: string; readonly name: string; readonly isFolder: boolean };

export type IgnorePattern = {
  /** True for a pattern with `!`, which takes back an earlier one */
  readonly isNegated: boolean;
  readonly matches: (candidate: Candidate, budget: MatchBudget) => boolean;
};

/** Parses a line of a `.gitignore`, without its end; `undefined` for an empty line or a comment. */
export function parseIgnorePattern(line: string): IgnorePattern | undefined {
  if (line === "" || line.startsWith("#")) return undefined;
  const text = trimSpaces(line);
  const isNegated = text.startsWith("!");
  const whole = isNegated ? text.slice(1) : text;
  const onlyFolders = whole.endsWith("/");
  const pattern = onlyFolders ? whole.slice(0, -1) : whole;
  const matchesText = pattern.includes("/") ? toPathMatch(pattern) : toNameMatch(pattern);
  return {
    isNegated,
    matches: (candidate, budget) => (candidate.isFolder || !onlyFolders) && matchesText(candidate, budget),
  };
}

/** Removes the spaces at the end, except for one behind a backslash. */
function trimSpaces(line: string): string {
  let end = line.length;
  for (let at = 0; at < line.length; at++) {
    if (line[at] === "\\") {
      if (++at >= line.length) return line;
      end = line.length;
    } else if (line[at] !== " ") end = line.length;
    else if (end === line.length) end = at;
  }
  return line.slice(0, end);
}

type Match = IgnorePattern["matches"];

/** Matches a pattern without a slash with the name of an entry at any depth. */
function toNameMatch(pattern: string): Match {
  if (findWild(pattern) === pattern.length) return ({ name }) => name === pattern;
  const ending = pattern.slice(1);
  if (pattern.startsWith("*") && findWild(ending) === ending.length) return ({ name }) => name.endsWith(ending);
  const tokens = compileWildPattern(pattern, { isPath: false });
  return ({ name }, budget) => matchWildPattern(tokens, name, budget);
}

/** Matches a pattern with a slash with the path of an entry. */
function toPathMatch(pattern: string): Match {
  const path = pattern.startsWith("/") ? pattern.slice(1) : pattern;
  const begin = findWild(path);
  const prefix = path.slice(0, begin);
  // Like git, which matches the rest as if it were a pattern: the "**" of "a**/b" is at its beginning.
  const tokens = compileWildPattern(path.slice(begin), { isPath: true });
  if (begin === path.length) return (candidate) => candidate.path === prefix;
  return (candidate, budget) =>
    candidate.path.startsWith(prefix) && matchWildPattern(tokens, candidate.path.slice(begin), budget);
}

/** Finds the first character that is not matched by itself; the length if there is none. */
function findWild(pattern: string): number {
  const at = pattern.search(/[*?[\\]/);
  return at === -1 ? pattern.length : at;
}
