import { countChanges, escapeUnseen, findVerb, formatCounts, renderChanges } from "@budgie/copies/diffs";
import type { Change, StoredSet } from "@budgie/copies/sets";
import type { Host } from "@budgie/mcp-server";
import type { Config } from "../../config/config.ts";
import { ago } from "../../terminal/ago.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { createStyle, type Style } from "../../terminal/style.ts";
import { toFacts } from "./list-changes.ts";
import { withChangeSets } from "./with-change-sets.ts";

export type ShowChangesOptions = { readonly id: string; readonly json: boolean };

/** Runs `budgie changes show`: prints what a change set is of, and its paths with what needs care. */
export async function showChangeSet(config: Config, { id, json }: ShowChangesOptions, host: Host): Promise<number> {
  const stored = await withChangeSets(config, host, ({ find }) => find(id));
  const facts = { ...toFacts(stored), changes: stored.set.changes };
  host.stdout.write(json ? stringifySafely(facts) : `${listLines(stored).join("\n")}\n`);
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

function listLines({ agent, createdMs, directory, id, outcome, sessionId, set, state }: StoredSet): readonly string[] {
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
    ...(outcome?.conflicts ?? []).map(({ path, why }) => `conflict   ${escapeUnseen(path)}: ${why}`),
    "",
    ...changes.map(toLine),
  ];
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
