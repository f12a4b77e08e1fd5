import { statSync, type Dirent } from "node:fs";
import { extname, join } from "node:path";
import { readEntries } from "../bounds/read-entries.ts";
import type { AgentPlace } from "./agent-definition.ts";

/** The agent files of a folder. */
export type ListedFiles = {
  /** Sorted: a folder's own before those of the folders in it, and otherwise by their names */
  readonly files: readonly AgentPlace[];
  /** One sentence for each limit that left files out, and for each inner folder that cannot be read */
  readonly problems: readonly string[];
};

const DEEPEST = 4;
const MOST_FILES = 1_000;
const MOST_ENTRIES = 10_000;

type Folder = {
  readonly folder: string;
  /** The path below the agents' folder, with a slash at its end; empty for itself */
  readonly below: string;
  readonly depth: number;
};

/**
 * Lists the JSON and Markdown files of a folder and of the folders in it, symlinks included. Each folder is read once, so that links
 * in a circle end. Throws if the folder itself cannot be read.
 */
export function listAgentFiles(agentsDir: string): ListedFiles {
  const files: AgentPlace[] = [];
  const problems = new Set<string>();
  const seen = new Set<string>();
  const queue: Folder[] = [{ folder: agentsDir, below: "", depth: 0 }];
  let entriesLeft = MOST_ENTRIES;

  function add(entry: Dirent, { below, depth, folder }: Folder): void {
    const path = join(folder, entry.name);
    const extension = extname(entry.name);
    if (extension === ".json" || extension === ".md") {
      const name = entry.name.slice(0, -extension.length);
      if (!LITTER.test(entry.name)) files.push({ file: path, path: `${below}${name}` });
    } else if (!entry.name.startsWith(".") && isFolder(entry, path)) {
      if (depth === DEEPEST) problems.add(formatTooMany(agentsDir, `deeper than ${DEEPEST} folders`));
      else queue.push({ folder: path, below: `${below}${entry.name}/`, depth: depth + 1 });
    }
  }

  for (const place of queue) {
    const id = idOf(place.folder);
    if (seen.has(id)) continue;
    seen.add(id);
    const entries = list(place, { most: entriesLeft + 1, problems });
    for (const entry of entries.slice(0, entriesLeft)) add(entry, place);
    entriesLeft -= entries.length;
    if (entriesLeft >= 0) continue;
    problems.add(formatTooMany(agentsDir, `after the first ${MOST_ENTRIES} entries`));
    break;
  }
  if (files.length > MOST_FILES) problems.add(formatTooMany(agentsDir, `after the first ${MOST_FILES}`));
  return { files: files.slice(0, MOST_FILES), problems: [...problems] };
}

// Lock files of Emacs, and files in which macOS keeps attributes on other file systems.
const LITTER = /^\.[#_]/;

function formatTooMany(agentsDir: string, where: string): string {
  return `Skipped the agent files in "${agentsDir}" ${where}. Move other files elsewhere.`;
}

function isFolder(entry: Dirent, path: string): boolean {
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function idOf(folder: string): string {
  try {
    const { dev, ino } = statSync(folder);
    return `${dev}:${ino}`;
  } catch {
    return folder;
  }
}

type Listing = { readonly most: number; readonly problems: Set<string> };

function list({ below, folder }: Folder, { most, problems }: Listing): readonly Dirent[] {
  try {
    return readEntries(folder, most).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if (below === "") throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    // It was removed since its parent was read.
    if (code !== "ENOENT") problems.add(`Skipped the folder "${folder}" of agents (${code ?? message}).`);
    return [];
  }
}
