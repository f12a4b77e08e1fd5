import { BudgieError } from "@budgie/core";
import type { FilledEntry, WorkspaceCopy } from "@budgie/core/copies";
import type { CopyReport } from "@budgie/core/errors";
import type { CopyTurn } from "@budgie/core/turn";
import { forEachOf } from "@budgie/core/walk";
import { escapeUnseen } from "../diffs/escape-bytes.ts";
import { namePaths } from "../diffs/name-paths.ts";
import { openHostFolder, type HostFolder } from "../host/host-folder.ts";
import { readHostEntry, type HostEntry } from "../host/read-host-entry.ts";
import type { ObjectStore } from "../objects/object-store.ts";
import { compareByBytes } from "../selection/entry-sink.ts";
import type { Selection } from "../selection/selection.ts";
import type { Change, ChangeSet, Side } from "../sets/change-set.ts";
import type { ChangeSets } from "../sets/change-sets.ts";
import { isSide } from "../sets/is-side.ts";
import type { Base, BaseFiles } from "./base-files.ts";
import { listTaken, planRefresh, rebase } from "./plan-refresh.ts";
import { sendEntries, type Sending } from "./send-entries.ts";

export type RefreshOptions = {
  /** The base of the copy as it is */
  readonly base: Base;
  readonly bases: Pick<BaseFiles, "save">;
  readonly sets: ChangeSets;
  /** Selects the directory as it is now */
  readonly select: (turn: CopyTurn) => Promise<{ readonly startedMs: number; readonly selection: Selection }>;
  readonly onProgress: Sending["onProgress"];
};

/** A copy that was filled again, with what it took over. */
export type RefreshedCopy = Pick<Base, "fillId" | "manifest" | "startedMs" | "tips"> & {
  readonly selection: Selection;
  readonly refreshed: NonNullable<CopyReport["refreshed"]>;
};

/**
 * Fills a copy again with its directory as it is now and what the agent changed, which is frozen before. Throws `INPUT_INVALID` if the copy
 * has work that no set keeps. One that is interrupted is done by the next turn, whether that asks for it or not.
 */
export async function refreshCopy(
  copy: WorkspaceCopy,
  turn: CopyTurn,
  { base, bases, onProgress, select, sets }: RefreshOptions,
): Promise<RefreshedCopy> {
  const { directory, sessionId, signal } = turn;
  const set = await freeze(copy, turn, { base, sets });
  const changes = set?.changes ?? [];
  const old = await sets.advance(sessionId, base.manifest, base.startedMs);
  const { selection, startedMs } = await select(turn);
  const judged = await judgeAll(directory, changes);
  const plan = planRefresh(
    selection.entries.map(({ entry }) => entry),
    changes,
  );
  const own = [...changes, ...plan.folders.map((path) => ({ path, after: { kind: "folder" } as const }))];
  const taken = { ...selection, entries: selection.entries.filter(({ entry }) => plan.isTaken(entry)) };
  await checkContents(changes, sets.objects, signal);
  // The agent's work is in its set alone until the copy is filled again.
  await bases.save(sessionId, { ...base, refreshing: set?.id ?? "" });
  const join = (entries: AsyncIterable<FilledEntry>) => joinOwn(entries, own, sets.objects);
  const sent = await sendEntries(copy, taken, { signal, onProgress, join });
  const { settled } = judged;
  const manifest = rebase({ old, taken: sent.manifest.entries, folders: plan.folders, changes, settled });
  const refreshed = {
    taken: namePaths(listTaken(old, manifest, changes)),
    kept: namePaths([...judged.conflicts, ...plan.crowdedOut]),
  };
  return { ...sent, manifest, selection: { ...selection, entries: taken.entries }, startedMs, refreshed };
}

/** Collects what the agent changed, or finds what was collected before an earlier refresh was interrupted. */
async function freeze(
  copy: WorkspaceCopy,
  { agent, directory, sessionId, signal }: CopyTurn,
  { base, sets }: Pick<RefreshOptions, "base" | "sets">,
): Promise<ChangeSet | undefined> {
  if (base.refreshing === "") return undefined;
  if (base.refreshing !== undefined) return (await sets.find(base.refreshing).catch(toLostSet)).set;
  const { manifest, startedMs } = base;
  const asked = { base: manifest, startedMs, read: () => copy.read(), sessionId, agent, directory, signal };
  const set = (await sets.collect(asked))?.set;
  if (set !== undefined && countUnkept(set) > 0) throw unkeptError(set);
  return set;
}

/** Reads what the agent wrote, one file at a time: nothing else has it once the copy is filled again. */
async function checkContents(
  changes: readonly Change[],
  objects: ObjectStore,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const { after, path } of changes) {
    signal?.throwIfAborted();
    if (after?.kind === "file") await readOwn(path, after.digest, objects);
  }
}

async function readOwn(path: string, digest: string | undefined, objects: ObjectStore): Promise<Buffer> {
  const content = await objects.read(digest ?? "");
  if (content === undefined) throw lostContent(path);
  return content;
}

function countUnkept({ changes, gitPaths, omitted }: ChangeSet): number {
  return gitPaths + omitted + changes.filter(({ refused }) => refused !== undefined).length;
}

type Judged = { readonly settled: readonly Change[]; readonly conflicts: readonly string[] };

/** Compares changes with the directory: it has some of them too, and other versions where there is a conflict. */
async function judgeAll(directory: string, changes: readonly Change[]): Promise<Judged> {
  const settled: Change[] = [];
  const conflicts: string[] = [];
  const host = await openHostFolder(directory);
  try {
    await forEachOf(changes, AT_ONCE, async (change) => {
      const found = await readNow(host, change);
      if (isSide(change.after, found)) settled.push(change);
      else if (!isSide(change.before, found)) conflicts.push(change.path);
    });
  } finally {
    host.close();
  }
  return { settled, conflicts: conflicts.toSorted() };
}

const AT_ONCE = 16;

function readNow(host: HostFolder, { after, before, path }: Change): Promise<HostEntry> {
  const sizes = [before, after].map((side) => (side?.kind === "file" ? side.size : undefined));
  const read = host.at(path, (place) => readHostEntry(place.path, (size) => sizes.includes(size)));
  return read.catch((error: NodeJS.ErrnoException) => ({ kind: error.code === "ENOENT" ? "missing" : "other" }));
}

type Own = { readonly path: string; readonly after?: Side | undefined };

/** Passes entries on in their order, with the agent's between them. */
async function* joinOwn(entries: AsyncIterable<FilledEntry>, changes: readonly Own[], objects: ObjectStore) {
  const own = changes.toSorted((a, b) => compareByBytes(a.path, b.path));
  let next = 0;
  for await (const filled of entries) {
    while (next < own.length && compareByBytes(own[next]?.path ?? "", filled.entry.path) < 0) {
      yield* toFilled(own[next++], objects);
    }
    yield filled;
  }
  while (next < own.length) yield* toFilled(own[next++], objects);
}

async function* toFilled(own: Own | undefined, objects: ObjectStore): AsyncGenerator<FilledEntry> {
  if (own?.after === undefined) return;
  const { after, path } = own;
  if (after.kind === "folder") yield { entry: { path, kind: "folder", mode: 0o755 } };
  else if (after.kind === "link") yield { entry: { path, kind: "link", target: after.target } };
  else {
    const content = await readOwn(path, after.digest, objects);
    yield { entry: { path, kind: "file", mode: after.executable ? 0o755 : 0o644, size: content.length }, content };
  }
}

function unkeptError(set: ChangeSet): BudgieError {
  const { gitPaths } = set;
  const what = gitPaths === 0 ? "that no change set can keep" : "in git's own folders, such as commits";
  return new BudgieError(
    "INPUT_INVALID",
    `The copy of session "${set.sessionId}" has work ${what}, which a refresh would lose: ${countUnkept(set)} paths. Ask without "refresh", or begin a new session.`,
  );
}

function toLostSet(cause: unknown): never {
  if (!(cause instanceof BudgieError && cause.code === "INPUT_INVALID")) throw cause;
  throw new BudgieError(
    "SESSION_UNUSABLE",
    "The copy cannot be filled again after a refresh that was interrupted: the change set with what the agent wrote is no longer kept. Begin a new session.",
    { cause },
  );
}

function lostContent(path: string): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `The copy cannot be filled again: what the agent wrote in ${JSON.stringify(escapeUnseen(path))} is no longer kept. Begin a new session.`,
  );
}
