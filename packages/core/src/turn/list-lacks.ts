import type { CopyReport } from "../errors.ts";
import { formatCount, truncateText } from "../text/truncate-text.ts";
import { sanitizeText } from "../text/sanitize-text.ts";

const LONGEST_NAME = 200;

/** Lists sentences about what a copy lacks of its directory. The names are a repository's, so they are quoted and on one line. */
export function listLacks({ leftOut, notes }: Pick<CopyReport, "leftOut" | "notes">): readonly string[] {
  const groups = leftOut.map(({ count, paths, why }) => {
    const rest = count - paths.length;
    const names = paths.map((path) => JSON.stringify(truncateText(sanitizeText(path), LONGEST_NAME)));
    return `Left out since ${why}: ${names.join(", ")}${rest > 0 ? ` and ${formatCount(rest)} more` : ""}.`;
  });
  return [...groups, ...notes];
}
