import type { Manifest } from "@budgie/core/copies";
import { findGuard, hasGitName, hasSameScripts } from "@budgie/core/guard";
import { openHostFolder } from "../host/host-folder.ts";
import type { ObjectStore } from "../objects/object-store.ts";
import { createChangeId, type Change, type ChangeSet, type Side } from "./change-set.ts";
import { keepBase } from "./keep-base.ts";
import { leadsOut } from "./leads-out.ts";
import { readCopy, type CopyReading, type ReadEntries } from "./read-copy.ts";
import { SET_BOUNDS, type SetBounds } from "./set-bounds.ts";

export type CollectOptions = {
  readonly base: Manifest;
  /** Reads the copy, as an agent left it */
  readonly read: ReadEntries;
  readonly objects: ObjectStore;
  readonly sessionId: string;
  readonly agent: string;
  /** The real path of the directory that was copied */
  readonly directory: string;
  readonly bounds?: Partial<SetBounds>;
  /** Ends the collection: rejects with its reason, and nothing is stored as a set */
  readonly signal?: AbortSignal | undefined;
};

/** A change set with the size of its stored contents. */
export type CollectedSet = { readonly set: ChangeSet; readonly bytes: number };

/**
 * Collects what an agent changed in its copy, and stores the contents of both sides: the copy's, and the host's where it still has the base.
 * Rejects if the copy cannot be read to its end.
 */
export async function collectChangeSet(options: CollectOptions): Promise<CollectedSet> {
  const { agent, base, directory, objects, read, sessionId, signal } = options;
  const bounds = { ...SET_BOUNDS, ...options.bounds };
  const reading = await readCopy(read, { base, objects, bounds, signal });
  const host = await openHostFolder(directory);
  try {
    const kept = await keepBase(reading.changes, { host, objects, mostBytes: bounds.bytes });
    const changes = await judgeChanges(kept.changes, reading, objects);
    const { gitPaths, omitted } = reading;
    const frozen = { sessionId, agent, directory, root: host.identity, changes, gitPaths, omitted };
    const set = { id: createChangeId(frozen), createdMs: Date.now(), ...frozen };
    return { set, bytes: reading.bytes + kept.bytes };
  } finally {
    host.close();
  }
}

async function judgeChanges(
  changes: readonly Change[],
  reading: CopyReading,
  objects: ObjectStore,
): Promise<readonly Change[]> {
  const twins = findCaseTwins(changes);
  const judged: Change[] = [];
  for (const change of changes) {
    const guard = await judgeGuard(change, reading, objects);
    const isTwin = twins.has(change.path) ? ["another changed path differs from it in case only"] : [];
    const notes = [...(change.notes ?? []), ...isTwin];
    judged.push({ ...change, ...(guard === undefined ? {} : { guard }), ...(notes.length === 0 ? {} : { notes }) });
  }
  return judged.toSorted((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
}

async function judgeGuard(change: Change, reading: CopyReading, objects: ObjectStore): Promise<Change["guard"]> {
  const { after, path } = change;
  if (after?.kind === "link" && isGuardedLink(path, after.target, reading)) return "person";
  const guard = findGuard(path, reading.isRepository);
  if (guard === "scripts") return (await isScriptless(change, objects)) ? undefined : "person";
  // Git's folders are left out before.
  return guard === "never" ? "person" : guard;
}

/** Returns true for a symlink by which the host's programs could read or write elsewhere, or in git's own folders. */
function isGuardedLink(path: string, target: string, { isLink }: CopyReading): boolean {
  return leadsOut(path, target, isLink) || hasGitName(target);
}

/** Returns true if a change of a `package.json` leaves its scripts as they were. */
async function isScriptless({ after, before }: Change, objects: ObjectStore): Promise<boolean> {
  const [old, fresh] = await Promise.all([before, after].map((side) => readSide(side, objects)));
  return old !== undefined && fresh !== undefined && hasSameScripts(old, fresh);
}

async function readSide(side: Side | undefined, objects: ObjectStore): Promise<Buffer | undefined> {
  if (side === undefined) return Buffer.from("{}");
  return side.kind === "file" && side.kept ? objects.read(side.digest ?? "") : undefined;
}

/** Finds the paths that some file systems take for one another. */
function findCaseTwins(changes: readonly Change[]): ReadonlySet<string> {
  const fold = (path: string): string => path.normalize("NFC").toLowerCase();
  const [seen, twice] = [new Set<string>(), new Set<string>()];
  for (const { path } of changes) (seen.has(fold(path)) ? twice : seen).add(fold(path));
  return new Set(changes.flatMap(({ path }) => (twice.has(fold(path)) ? [path] : [])));
}
