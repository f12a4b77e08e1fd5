import { structuredPatch } from "diff";
import { replaceAll } from "./replace-all.ts";

/** Two texts as latin1, so that every byte survives, and the time that their diff may take. */
export type DiffRequest = { readonly before: string; readonly after: string; readonly timeoutMs: number };

const CONTEXT = 3;

/** Returns the hunks of a unified diff as latin1 lines. If the smallest diff takes too long, returns one that replaces everything. */
export function diffTexts({ after, before, timeoutMs }: DiffRequest): readonly string[] {
  const patch = structuredPatch("", "", before, after, undefined, undefined, { context: CONTEXT, timeout: timeoutMs });
  if (patch === undefined) return replaceAll(before, after);
  return patch.hunks.flatMap(({ lines, newLines, newStart, oldLines, oldStart }) => [
    `@@ -${toStart(oldStart, oldLines)},${oldLines} +${toStart(newStart, newLines)},${newLines} @@`,
    ...lines,
  ]);
}

/** Returns the line at which a hunk begins: of no lines, the one before. */
function toStart(start: number, lines: number): number {
  return lines === 0 ? start - 1 : start;
}
