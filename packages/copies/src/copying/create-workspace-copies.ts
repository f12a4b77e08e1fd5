import { BudgieError } from "@budgie/core";
import type { CopyChanges, CopyReport } from "@budgie/core/errors";
import type { Manifest, ReadOptions, TreeEntry, WorkspaceCopy } from "@budgie/core/copies";
import type { CopyTurn, SharedBase, WorkspaceCopies } from "@budgie/core/turn";
import type { UserGit } from "../git/load-repository.ts";
import { TORN } from "../selection/read-entries.ts";
import { selectEntries } from "../selection/select-entries.ts";
import type { CopyWishes } from "../selection/selection.ts";
import type { ChangeSets } from "../sets/change-sets.ts";
import { openBaseFiles, type Base, type BaseFiles } from "./base-files.ts";
import { createCopyProgress, type CopyProgress } from "./copy-progress.ts";
import { readOnce } from "./read-once.ts";
import { createKnownFiles } from "./known-files.ts";
import { createReferences, watchFound } from "./references.ts";
import type { refreshCopy } from "./refresh-copy.ts";
import { sendEntries } from "./send-entries.ts";
import { createSharedReadings } from "./shared-readings.ts";

export type CopiesOptions = {
  /** The folder of the bases in the state directory */
  readonly folder: string;
  readonly wishes: CopyWishes;
  readonly userGit: UserGit;
  /** Takes back what an apply left in a directory before that is copied; default: nothing does */
  readonly settle?: ((directory: string) => Promise<void>) | undefined;
  /** Collects what an agent changed, given the directory as it was when the copy was made; default: nothing does */
  readonly collect?: CollectChanges | undefined;
  /** Opens what keeps an agent's changes while its copy is filled again; without it no copy is refreshed */
  readonly openSets?: (() => Promise<ChangeSets>) | undefined;
};

/** Collects the changes of a copy since its base; resolves to `undefined` if there are none. */
export type CollectChanges = (
  copy: WorkspaceCopy,
  turn: CopyTurn & { readonly base: Pick<Base, "manifest" | "startedMs"> },
) => Promise<CopyChanges | undefined>;

/** The copies of a state directory's sessions. */
export type OpenCopies = WorkspaceCopies & { readonly bases: BaseFiles };

const MOST_SEEN = 1_000;

type Sharing = CopyTurn & { readonly sharedBase: SharedBase };

/** Opens the copies of sessions: each is filled once, and remembered with the directory as it was then. */
export function createWorkspaceCopies(options: CopiesOptions): OpenCopies {
  const { collect, folder, openSets, settle, userGit, wishes } = options;
  const bases = openBaseFiles(folder);
  const seen = new Set<string>();
  const known = createKnownFiles();

  const shared = createSharedReadings(async (turn, over) => {
    const { selection, startedMs } = await select({ ...turn, signal: over });
    const read = await readOnce(selection, { folder, over, findKnown: known.of(turn.directory) });
    known.keep(selection, read.manifest, startedMs);
    return { startedMs, ...read };
  });

  async function select({ directory, git, signal }: CopyTurn) {
    await settle?.(directory);
    const startedMs = Date.now();
    return { startedMs, selection: await selectEntries(directory, { wishes, userGit, git, signal }) };
  }

  /** Fills a copy over a base of all that was read, or with all of it where the engine has no bases. */
  async function sendShared(copy: WorkspaceCopy, turn: Sharing, onProgress: CopyProgress["tell"]) {
    const { directory, sharedBase, signal } = turn;
    const { entries, id, manifest, selection, startedMs, tips } = await shared.find(turn, sharedBase);
    const told = () => countEntries(entries(), (done) => onProgress(done, manifest.entries.length));
    try {
      const over = await copy.fillOver?.({ id, directory, entries: told }, { signal });
      const fillId = over ?? (await copy.fill(told(), { signal }));
      return { startedMs, selection, manifest, fillId, tips };
    } catch (error) {
      // A known file may have changed before its base was made.
      known.forget(directory);
      throw error;
    }
  }

  /** Fills a copy over a base of a reading of its own. */
  function sendOver(copy: WorkspaceCopy, turn: CopyTurn, onProgress: CopyProgress["tell"]) {
    const over = new AbortController();
    const sharedBase = { over: over.signal };
    return sendShared(copy, { ...turn, sharedBase }, onProgress).finally(() => over.abort());
  }

  /** Selects and sends the directory, or what was read of it for several copies. */
  async function selectAndSend(copy: WorkspaceCopy, turn: CopyTurn, onProgress: CopyProgress["tell"]) {
    const { sharedBase, signal } = turn;
    if (sharedBase !== undefined) return sendShared(copy, { ...turn, sharedBase }, onProgress);
    // Another copy is likely then, and a base would be worth its room.
    if (copy.fillOver !== undefined && seen.has(turn.directory)) {
      return sendOver(copy, turn, onProgress).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== TORN) throw error;
        return sendOver(copy, turn, onProgress);
      });
    }
    const selected = await select(turn);
    return { ...selected, ...(await sendEntries(copy, selected.selection, { signal, onProgress })) };
  }

  /** Fills a copy that has nothing yet, or with all that the agent changed on its old base. */
  async function fill(copy: WorkspaceCopy, turn: CopyTurn, base?: Base): Promise<CopyReport> {
    const progress = createCopyProgress(turn.onProgress);
    try {
      const { directory } = turn;
      const filled =
        base === undefined || openSets === undefined
          ? await selectAndSend(copy, turn, progress.tell)
          : await refresh(copy, turn, { base, bases, select, sets: await openSets(), onProgress: progress.tell });
      const { fillId, manifest, selection, startedMs, tips } = filled;
      const { groups, notes } = selection.leftOut.list();
      const facts = { entries: manifest.entries.length, bytes: countBytes(manifest) };
      const report = { ...facts, leftOut: groups.map(({ count, paths, why }) => ({ why, count, paths })), notes };
      const isRefreshed = "refreshed" in filled;
      await bases.save(turn.sessionId, { fillId, directory, report, tips, manifest, startedMs, isRefreshed });
      if (seen.size < MOST_SEEN) seen.add(directory);
      return isRefreshed ? { isReused: true, ...report, refreshed: filled.refreshed } : { isReused: false, ...report };
    } catch (error) {
      throw turn.signal?.aborted === true ? cancelledError(error) : toBudgieError(error, turn.directory);
    } finally {
      progress.end();
    }
  }

  return {
    bases,
    async prepare(copy, turn) {
      const base = await bases.load(turn.sessionId);
      if (base?.directory !== turn.directory) return fill(copy, turn);
      // Nothing of the agent has run since a refresh that was interrupted.
      if (base.refreshing !== undefined) return fill(copy, turn, base);
      const known = await copy.fillId();
      // A new copy would lack what the agent has done, and its next set would replace the one that has it.
      if (known === undefined) throw lostCopyError(turn.sessionId);
      if (known !== base.fillId) return fill(copy, turn);
      if (turn.refresh === true) return fill(copy, turn, base);
      await bases.touch(turn.sessionId);
      return { isReused: true, ...base.report };
    },
    async collect(copy, turn) {
      if (collect === undefined) return undefined;
      await bases.synced(turn.sessionId);
      const base = await bases.load(turn.sessionId);
      if (base === undefined) throw lostBaseError(turn.sessionId);
      const references = createReferences("agent");
      const read: WorkspaceCopy["read"] = ({ take } = {}) => watchFound(copy.read(ofFill(base, take)), references);
      const watched = { ...copy, read };
      // The changes of a turn that was cancelled matter too, if they are there soon.
      const signal = turn.signal?.aborted === true ? AbortSignal.timeout(AFTER_CANCEL_MS) : turn.signal;
      const changes = await collect(watched, { ...turn, base, signal }).catch((error: unknown) => {
        throw signal?.aborted === true ? uncollectedError(error) : error;
      });
      const known = new Set(base.tips);
      const commits = references.list().flatMap(({ commit, name }) => (known.has(commit) ? [] : [name]));
      return changes === undefined || commits.length === 0 ? changes : { ...changes, commits: toNames(commits) };
    },
  };
}

/** Loads late what few turns need. */
async function refresh(...all: Parameters<typeof refreshCopy>): ReturnType<typeof refreshCopy> {
  return (await import("./refresh-copy.ts")).refreshCopy(...all);
}

const AFTER_CANCEL_MS = 10_000;

// An agent may have made any number.
const MOST_NAMED = 20;

/** Returns the first names, each of which may stand in two files of git. */
function toNames(names: readonly string[]): readonly string[] {
  return [...new Set(names)].slice(0, MOST_NAMED);
}

async function* countEntries<Entry>(entries: AsyncIterable<Entry>, onCount: (count: number) => void) {
  let count = 0;
  onCount(count);
  for await (const entry of entries) {
    yield entry;
    onCount(++count);
  }
}

// Each turn of a session asks for the same.
const indexed = new WeakMap<Manifest["entries"], ReadonlyMap<string, TreeEntry>>();

function indexEntries(entries: Manifest["entries"]): ReadonlyMap<string, TreeEntry> {
  const index = indexed.get(entries) ?? new Map(entries.map((entry) => [entry.path, entry]));
  indexed.set(entries, index);
  return index;
}

/** Has a reader take those files alone that the copy was filled with, by size and rights. A refresh filled it with the agent's versions too. */
function ofFill({ isRefreshed, manifest: { entries } }: Base, take: ReadOptions["take"]): ReadOptions {
  if (isRefreshed === true || take === undefined) return {};
  const filled = indexEntries(entries);
  return {
    take(file) {
      const entry = filled.get(file.path);
      return entry?.kind === "file" && entry.size === file.size && entry.mode === file.mode && take(file);
    },
  };
}

function countBytes({ entries }: Manifest): number {
  return entries.reduce((sum, entry) => sum + (entry.kind === "file" ? entry.size : 0), 0);
}

function toBudgieError(error: unknown, directory: string): unknown {
  if (error instanceof BudgieError || !(error instanceof Error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code !== TORN) return error;
  return new BudgieError(
    "WORKSPACE_INVALID",
    `"${directory}" changed while it was copied: ${error.message} Ask again.`,
    {
      cause: error,
    },
  );
}

function cancelledError(cause: unknown): BudgieError {
  return new BudgieError("CANCELLED", "The turn was cancelled while its directory was copied.", { cause });
}

function uncollectedError(cause: unknown): BudgieError {
  return new BudgieError(
    "CANCELLED",
    "The turn was cancelled while its changes were collected. The copy has them still: the next turn of the session collects them.",
    { cause },
  );
}

function lostCopyError(sessionId: string): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `The copy of session "${sessionId}" is gone. Its change sets can still be applied. Begin a new session.`,
  );
}

function lostBaseError(sessionId: string): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `The state directory no longer says how the copy of session "${sessionId}" was made, so that nothing can be compared. Begin a new session.`,
  );
}
