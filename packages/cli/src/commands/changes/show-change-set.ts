import { join } from "node:path";
import type { ChangesReview, NamedPaths } from "@budgie/core/errors";
import { openBaseFiles } from "@budgie/copies/copying";
import { countChanges, escapeUnseen, findVerb, formatCounts, renderChanges } from "@budgie/copies/diffs";
import { reviewSet } from "@budgie/copies/review";
import { isOpen, type Change, type StoredSet } from "@budgie/copies/sets";
import type { Host } from "@budgie/mcp-server";
import type { Config } from "../../config/config.ts";
import { ago } from "../../terminal/ago.ts";
import { shortId } from "../../terminal/expand-id.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { createStyle, type Style } from "../../terminal/style.ts";
import { toFacts } from "./list-changes.ts";
import { withChangeSets } from "./with-change-sets.ts";

export type ShowChangesOptions = { readonly id: string; readonly json: boolean };

/** Runs `budgie changes show`: prints what a change set is of, and its paths with what needs care. */
export async function showChangeSet(config: Config, { id, json }: ShowChangesOptions, host: Host): Promise<number> {
  await withChangeSets(config, host, async (sets) => {
    const stored = await sets.find(id);
    const base = await openBaseFiles(join(config.stateDir, "copies")).load(stored.sessionId);
    const review = isOpen(stored) ? await reviewSet(stored, { sets, base }) : undefined;
    const facts = { ...toFacts(stored), ...(review === undefined ? {} : { review }), changes: stored.set.changes };
    host.stdout.write(json ? stringifySafely(facts) : `${listLines(stored, review).join("\n")}\n`);
  });
  return 0;
}

/** Runs `budgie changes diff`: prints the changes of a set as unified diffs, in colours on a terminal. */
export async function diffChanges(config: Config, id: string, host: Host): Promise<number> {
  await withChangeSets(config, host, async ({ find, objects }) => {
    const { set } = await find(id);
    const style = createStyle(host);
    for await (const lines of renderChanges(set, { objects })) {
      host.stdout.write(`${lines.map((line) => paint(line, style)).join("\n")}\n`);
    }
  });
  return 0;
}

function listLines(
  { agent, createdMs, directory, id, outcome, sessionId, set, state }: StoredSet,
  review: ChangesReview | undefined,
): readonly string[] {
  const { changes, gitPaths, omitted } = set;
  return [
    `changes    ${id}`,
    `agent      ${escapeUnseen(agent)}`,
    `session    ${escapeUnseen(sessionId)}`,
    `directory  ${escapeUnseen(directory)}`,
    `found      ${ago(createdMs)}`,
    `state      ${state}`,
    `of them    ${formatCounts(countChanges(set))}`,
    ...(gitPaths === 0 ? [] : [`           ${gitPaths} new paths of git's own folders, which are never applied`]),
    ...(omitted === 0 ? [] : [`           ${omitted} more changes, which are too many to be kept or applied`]),
    ...(review === undefined ? listConflicts(outcome) : listReview(review)),
    "",
    ...changes.map(toLine),
  ];
}

/** Lists the conflicts of the last apply. */
function listConflicts(outcome: StoredSet["outcome"]): readonly string[] {
  return (outcome?.conflicts ?? []).map(({ path, why }) => `conflict   ${escapeUnseen(path)}: ${why}`);
}

/** Lists the differences between a set that waits and its directory as it is now. */
function listReview({ conflicts, drift, overlaps, problem }: ChangesReview): readonly string[] {
  const unsure = drift.isWhole ? "" : "at least ";
  return [
    ...(problem === undefined ? [] : [`problem    ${problem}`]),
    ...listNamed("conflict", conflicts),
    ...(drift.count === 0 ? [] : [`drift      ${unsure}${drift.count} of the copied paths changed in the directory`]),
    ...listNamed("", drift),
    ...overlaps.map(({ changeId, count }) => `overlap    ${shortId(changeId)} changes ${count} of the same paths`),
  ];
}

function listNamed(what: string, { count, paths }: NamedPaths): readonly string[] {
  const more = count > paths.length ? [`           and ${count - paths.length} more`] : [];
  return [...paths.map((path) => `${what.padEnd(11)}${path}`), ...more];
}

function toLine(change: Change): string {
  const { guard, notes = [], path, refused } = change;
  const remarks = [
    ...(refused === undefined ? [] : [`not applied: ${refused}`]),
    ...(guard === "person" ? ["guarded"] : []),
    ...(guard === "told" ? ["builds or editors run it"] : []),
    ...notes,
  ];
  const said = remarks.length === 0 ? "" : `  (${remarks.join("; ")})`;
  return `${findVerb(change).padEnd(9)}${escapeUnseen(path)}${said}`;
}

/** Paints a line of a diff as git does. Lines that begin otherwise are budgie's own. */
function paint(line: string, style: Style): string {
  if (line.startsWith("+++ ") || line.startsWith("--- ")) return style("bold", line);
  if (line.startsWith("@@ ")) return style("cyan", line);
  if (line.startsWith("+")) return style("green", line);
  if (line.startsWith("-")) return style("red", line);
  if (line.startsWith("  guarded:") || line.startsWith("  not applied:")) return style("yellow", line);
  return /^[a-z]/.test(line) ? style("bold", line) : line;
}
