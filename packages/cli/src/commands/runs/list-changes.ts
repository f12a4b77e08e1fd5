import type { ChangedFile, RunFacts } from "@budgie/core/runs";
import { formatCount } from "@budgie/core/text";

// A run's story fits on one screen.
const MOST_FLAGGED = 8;
const MOST_OTHERS = 6;
const MOST_LISTED_OF_FOLDER = 3;

/** Lists the changes of a turn, one line each: first what the machine runs, then the others, as far as there is room. */
export function listChanges(facts: RunFacts | undefined): readonly (readonly [name: string, text: string])[] {
  const { first = [], more = 0, unknown } = facts?.changedFiles ?? {};
  const flagged = first.filter(({ isFlagged }) => isFlagged === true);
  const known = new Set(flagged.map(({ path }) => path));
  // Older budgies kept no more, and a process may have changed some after an earlier turn.
  const others = (facts?.changedExecutablePaths ?? []).filter((path) => !known.has(path));
  const dangerous = [...flagged.map(formatChange), ...others.map(formatName)];
  const harmless = foldFolders(first.filter(({ isFlagged }) => isFlagged !== true));
  const left = more + harmless.slice(MOST_OTHERS).reduce((sum, { count }) => sum + count, 0);
  return [
    ...dangerous.slice(0, MOST_FLAGGED).map((text) => ["flagged", text] as const),
    ...listMore("flagged", dangerous.length - MOST_FLAGGED),
    ...harmless.slice(0, MOST_OTHERS).map(({ text }) => ["changed", text] as const),
    ...listMore("changed", left),
    ...(unknown === undefined ? [] : [["unknown", `there may be other changes: ${unknown}`] as const]),
  ];
}

function listMore(name: string, count: number): readonly (readonly [name: string, text: string])[] {
  return count <= 0 ? [] : [[name, `and ${formatCount(count)} more, which --json has as far as they are kept`]];
}

type Line = { readonly text: string; readonly count: number };

/** Makes one line of a folder that came or went with many files. */
function foldFolders(changes: readonly ChangedFile[]): readonly Line[] {
  const folders = changes.filter(({ kind, path }) => path.endsWith("/") && (kind === "created" || kind === "removed"));
  const large = new Map(
    folders.flatMap(({ path }) => {
      const inside = changes.filter((one) => one.path !== path && one.path.startsWith(path)).length;
      return inside > MOST_LISTED_OF_FOLDER ? [[path, inside] as const] : [];
    }),
  );
  return changes.flatMap((change) => {
    const inside = large.get(change.path);
    if (inside !== undefined)
      return [{ text: `${formatChange(change)} with ${formatCount(inside)} files`, count: inside + 1 }];
    const isFolded = [...large.keys()].some((folder) => change.path.startsWith(folder));
    return isFolded ? [] : [{ text: formatChange(change), count: 1 }];
  });
}

const VERBS: Readonly<Record<ChangedFile["kind"], string>> = {
  created: "created",
  changed: "changed",
  mode: "mode of",
  link: "link",
  removed: "removed",
  "came-and-went": "names came and went in",
};

function formatChange({ kind, path, size }: ChangedFile): string {
  if (kind === "came-and-went" && !path.endsWith("/")) return `came and went: ${formatName(path)}`;
  const bytes = size === undefined || kind === "link" ? "" : ` (${formatCount(size)} bytes)`;
  return `${VERBS[kind]} ${formatName(path)}${bytes}`;
}

/** Returns a name that an agent chose, in quotes if it could be taken for more than a name. */
function formatName(name: string): string {
  return /^[\w./@+-]+$/.test(name) ? name : JSON.stringify(name);
}
