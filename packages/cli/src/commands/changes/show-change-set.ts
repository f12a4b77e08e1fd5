import { join } from "node:path";
import type { ChangesReview, NamedPaths } from "@budgie/core/errors";
import { openBaseFiles } from "@budgie/copies/copying";
import { countChanges, escapeUnseen, findVerb, formatCounts, renderChanges } from "@budgie/copies/diffs";
import { reviewSet } from "@budgie/copies/review";
import { isOpen, type Change, type StoredSet } from "@budgie/copies/sets";
import type { Host } from "@budgie/mcp-server";
import type { Config } from "../../config/config.ts";
import { pageLines } from "../../process/page-lines.ts";
import { ago } from "../../terminal/ago.ts";
import { shortId } from "../../terminal/expand-id.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { createStyle, type Style } from "../../terminal/style.ts";
import { toFacts } from "./list-changes.ts";
import { wrapText } from "../../terminal/wrap-text.ts";
import { withChangeSets } from "./with-change-sets.ts";

export type ShowChangesOptions = { readonly id: string; readonly json: boolean };

/** Runs `budgie changes show`: prints what a change set is of, and its paths with what needs care. */
export async function showChangeSet(config: Config, { id, json }: ShowChangesOptions, host: Host): Promise<number> {
  await withChangeSets(config, host, async (sets) => {
    const stored = await sets.find(id);
    const base = await openBaseFiles(join(config.stateDir, "copies")).load(stored.sessionId);
    const review = isOpen(stored) ? await reviewSet(stored, { sets, base }) : undefined;
    const facts = { ...toFacts(stored), ...(review === undefined ? {} : { review }), changes: stored.set.changes };
    const lines = (): readonly string[] => listLines(stored, review, host);
    host.stdout.write(json ? stringifySafely(facts) : `${lines().join("\n")}\n`);
  });
  return 0;
}

/** Runs `budgie changes diff`: prints the changes of a set as unified diffs, on a terminal in colours and through the user's pager. */
export async function diffChanges(config: Config, id: string, host: Host): Promise<number> {
  await withChangeSets(config, host, async ({ find, objects }) => {
    const { set } = await find(id);
    const style = createStyle(host);
    await pageLines(host, async function* () {
      for await (const lines of renderChanges(set, { objects })) yield paintChange(lines, style);
    });
  });
  return 0;
}

// The width of the column that says what a line is about.
const INDENT = 11;

type ToLine = (about: string, text: string) => string;

function listLines(
  stored: StoredSet,
  review: ChangesReview | undefined,
  { columns }: Pick<Host, "columns">,
): readonly string[] {
  const { agent, createdMs, directory, id, outcome, sessionId, set, state } = stored;
  const { changes, gitPaths, omitted } = set;
  const toLine = (about: string, text: string): string =>
    `${about.padEnd(INDENT)}${wrapText(text, { columns, indent: INDENT })}`;
  return [
    toLine("changes", id),
    toLine("agent", escapeUnseen(agent)),
    toLine("session", escapeUnseen(sessionId)),
    toLine("directory", escapeUnseen(directory)),
    toLine("found", ago(createdMs)),
    toLine("state", state),
    toLine("of them", formatCounts(countChanges(set))),
    ...(gitPaths === 0
      ? []
      : [
          toLine(
            "",
            `${gitPaths} new paths of git's own folders, which are never applied: "changes bundle" writes commits`,
          ),
        ]),
    ...(omitted === 0 ? [] : [toLine("", `${omitted} more changes, which are too many to be kept or applied`)]),
    ...(review === undefined ? listConflicts(outcome, toLine) : listReview(review, toLine)),
    "",
    ...changes.map((change) => toLine(findVerb(change), `${escapeUnseen(change.path)}${formatRemarks(change)}`)),
  ];
}

/** Lists the conflicts of the last apply. */
function listConflicts(outcome: StoredSet["outcome"], toLine: ToLine): readonly string[] {
  return (outcome?.conflicts ?? []).map(({ path, why }) => toLine("conflict", `${escapeUnseen(path)}: ${why}`));
}

/** Lists the differences between a set that waits and its directory as it is now. */
function listReview({ conflicts, drift, overlaps, problem }: ChangesReview, toLine: ToLine): readonly string[] {
  const unsure = drift.isWhole ? "" : "at least ";
  const listNamed = (about: string, { count, paths }: NamedPaths): readonly string[] => [
    ...paths.map((path) => toLine(about, path)),
    ...(count > paths.length ? [toLine("", `and ${count - paths.length} more`)] : []),
  ];
  return [
    ...(problem === undefined ? [] : [toLine("problem", problem)]),
    ...listNamed("conflict", conflicts),
    ...(drift.count === 0
      ? []
      : [toLine("drift", `${unsure}${drift.count} of the copied paths changed in the directory`)]),
    ...listNamed("", drift),
    ...overlaps.map(({ changeId, count }) =>
      toLine("overlap", `${shortId(changeId)} changes ${count} of the same paths`),
    ),
  ];
}

function formatRemarks({ guard, notes = [], refused }: Change): string {
  const remarks = [
    ...(refused === undefined ? [] : [`not applied: ${refused}`]),
    ...(guard === "person" ? ["guarded"] : []),
    ...(guard === "told" ? ["builds or editors run it"] : []),
    ...notes,
  ];
  return remarks.length === 0 ? "" : `  (${remarks.join("; ")})`;
}

/** Paints the lines of a change as git does. Within its hunks a line is an agent's, whatever it looks like. */
function paintChange(lines: readonly string[], style: Style): readonly string[] {
  const hunk = lines.findIndex((line) => line.startsWith("@@ "));
  return lines.map((line, index) => (hunk === -1 || index < hunk ? paintHead(line, style) : paintHunk(line, style)));
}

function paintHead(line: string, style: Style): string {
  if (line.startsWith("  guarded:") || line.startsWith("  not applied:")) return style("yellow", line);
  return line.startsWith("  ") ? line : style("bold", line);
}

function paintHunk(line: string, style: Style): string {
  if (line.startsWith("@@ ")) return style("cyan", line);
  if (line.startsWith("+")) return style("green", line);
  return line.startsWith("-") ? style("red", line) : line;
}
