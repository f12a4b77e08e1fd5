import type { ChangedFile, ChangedFiles } from "../changed-files.ts";
import { formatPath } from "../walk/format-path.ts";
import { findGitFolderOf, MOST_CHANGES, type FoundChange, type FoundChanges } from "./files/file-search.ts";

/** A change of something that the host runs or follows; its kind and size are by default as the search found them. */
type Flagged = Partial<FoundChange> & Pick<FoundChange, "path">;

type Seen = { readonly flagged: readonly Flagged[]; readonly unread: ReadonlyMap<string, string> };

// The record of a turn stays small, whatever names the agent chose.
const MOST_BYTES = 32 * 1024;

/** Puts the changes that the host runs or follows before all others, and counts the ones that do not fit. */
export function buildChangedFiles(found: FoundChanges, { flagged, unread }: Seen): ChangedFiles {
  const known = new Map(found.first.map((change) => [change.path, change]));
  const marked = new Map([...flagged, ...found.passing].map((one) => [one.path, one] as const));
  const isCut = found.count > found.first.length;
  // The search does not list what is in git folders, and does not see changed content without file times.
  const added = [...marked.keys()].filter((path) => !known.has(path) && (isListedApart(path) || !isCut));
  const repositories = listRepositories(found, [...marked.keys()]);
  const others = [...found.first.filter(({ path }) => !marked.has(path)), ...repositories];
  const first = fit([
    ...[...marked.values()].slice(0, MOST_CHANGES).map((one) => toFlagged(one, known.get(one.path))),
    ...others.slice(0, MOST_CHANGES).map((change) => toChangedFile(change)),
  ]);
  const why = found.unknown ?? formatUnread(unread);
  return {
    first,
    files: found.files + added.filter((path) => isFile(marked.get(path))).length,
    more: found.count + repositories.length + added.length - first.length,
    ...(why === undefined ? {} : { unknown: why }),
  };
}

/** Returns true for a file that is not as it was before. */
function isFile(change: Flagged | undefined): boolean {
  return change !== undefined && change.kind !== "came-and-went" && !change.path.endsWith("/");
}

/** Returns true for a path that the search counts apart, or does not look at. */
function isListedApart(path: string): boolean {
  return path.startsWith("/") || findGitFolderOf(path) !== undefined;
}

/** Lists the git folders in which anything else than the flagged paths changed. */
function listRepositories({ repositories }: FoundChanges, flagged: readonly string[]): readonly FoundChange[] {
  return [...repositories].flatMap(([path, count]) => {
    const own = flagged.filter((one) => one.startsWith(path)).length;
    return count > own ? [{ path, kind: "changed" as const }] : [];
  });
}

function toFlagged({ kind, path, size }: Flagged, seen: FoundChange | undefined): ChangedFile {
  const known = { path, kind: kind ?? seen?.kind ?? "changed", size: size ?? seen?.size };
  return { ...toChangedFile(known), isFlagged: true };
}

function toChangedFile({ kind, path, size }: FoundChange): ChangedFile {
  return { path: formatPath(path), kind, ...(size === undefined ? {} : { size }) };
}

function fit(changes: readonly ChangedFile[]): readonly ChangedFile[] {
  let bytes = 0;
  const end = changes.findIndex(({ path }) => (bytes += Buffer.byteLength(path)) > MOST_BYTES);
  return changes.slice(0, Math.min(end === -1 ? changes.length : end, MOST_CHANGES));
}

function formatUnread(unread: ReadonlyMap<string, string>): string | undefined {
  const [first] = unread;
  return first && `of ${JSON.stringify(formatPath(first[0]))}, ${first[1]}`;
}
