import { countChanges, formatCounts } from "@budgie/copies/diffs";
import { isOpen, type StoredSet } from "@budgie/copies/sets";
import { escapeForTerminal } from "@budgie/core/text";
import type { Host } from "@budgie/mcp-server";
import type { Config } from "../../config/config.ts";
import { ago } from "../../terminal/ago.ts";
import { shortId } from "../../terminal/expand-id.ts";
import { formatTable } from "../../terminal/format-table.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { withChangeSets } from "./with-change-sets.ts";

export type ListChangesOptions = {
  /** True to list those that are applied, discarded, undone or replaced too */
  readonly all: boolean;
  readonly json: boolean;
};

/** Runs `budgie changes ls`: prints the change sets, the newest first. */
export async function listChanges(config: Config, { all, json }: ListChangesOptions, host: Host): Promise<number> {
  const sets = await withChangeSets(config, host, ({ list }) => list());
  const shown = all ? sets : sets.filter(isOpen);
  host.stdout.write(json ? stringifySafely(shown.map(toFacts)) : listText(shown, all, host));
  return 0;
}

/** Returns a set for JSON output, without its contents. */
export function toFacts({ agent, createdMs, directory, id, outcome, sessionId, set, state }: StoredSet) {
  const { gitPaths, omitted } = set;
  const created = new Date(createdMs).toISOString();
  return { id, agent, sessionId, directory, created, state, ...countChanges(set), gitPaths, omitted, outcome };
}

function listText(sets: readonly StoredSet[], all: boolean, host: Host): string {
  if (sets.length === 0) {
    return all ? "There are no change sets.\n" : "There are no pending change sets. --all lists the others too.\n";
  }
  const head = ["CHANGES", "FOUND", "AGENT", "STATE", "OF THEM", "DIRECTORY", "SESSION"];
  const rows = sets.map(({ agent, createdMs, directory, id, sessionId, set, state }) => [
    shortId(id),
    ago(createdMs),
    agent,
    state,
    formatCounts(countChanges(set)),
    host.columns === undefined ? directory : shortenPath(directory, host.home),
    shortId(sessionId),
  ]);
  const table = [head, ...rows.map((row) => row.map(escapeForTerminal))];
  // "show" has the session too, whose id nobody could use once it is cut.
  const isNarrow = host.columns !== undefined && host.columns < 120;
  return `${formatTable(isNarrow ? table.map((row) => row.slice(0, -1)) : table, host).join("\n")}\n`;
}

const LONGEST_PATH = 32;

/** Returns a path from the home, of which a long one begins later, since its end tells more. */
function shortenPath(path: string, home: string): string {
  const short = path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
  return short.length <= LONGEST_PATH ? short : `…${short.slice(1 - LONGEST_PATH)}`;
}
