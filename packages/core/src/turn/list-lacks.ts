import type { CopyReport, NamedPaths } from "../errors.ts";
import { formatCount, truncateText } from "../text/truncate-text.ts";
import { sanitizeText } from "../text/sanitize-text.ts";

const LONGEST_NAME = 200;

/** Lists sentences about what a copy lacks of its directory. The names are a repository's, so they are quoted and on one line. */
export function listLacks({ leftOut, notes }: Pick<CopyReport, "leftOut" | "notes">): readonly string[] {
  const groups = leftOut.map((group) => `Left out since ${group.why}: ${formatNames(group)}.`);
  return [...groups, ...notes];
}

/** Lists sentences about what a copy took over from its directory in this turn. */
export function listRefreshed({ refreshed }: Pick<CopyReport, "refreshed">): readonly string[] {
  if (refreshed === undefined) return [];
  const { kept, taken } = refreshed;
  return [
    taken.count === 0 ? "Nothing had to be taken over." : `Taken over from the directory: ${formatNames(taken)}.`,
    ...(kept.count === 0 ? [] : [`Not taken over, since the agent's own work is in their way: ${formatNames(kept)}.`]),
  ];
}

function formatNames({ count, paths }: NamedPaths): string {
  const rest = count - paths.length;
  const names = paths.map((path) => JSON.stringify(truncateText(sanitizeText(path), LONGEST_NAME)));
  return `${names.join(", ")}${rest > 0 ? ` and ${formatCount(rest)} more` : ""}`;
}
