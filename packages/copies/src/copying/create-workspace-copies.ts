import { BudgieError } from "@budgie/core";
import type { CopyChanges, CopyReport } from "@budgie/core/errors";
import type { Manifest, TreeEntry, WorkspaceCopy } from "@budgie/core/copies";
import type { CopyTurn, SharedBase, WorkspaceCopies } from "@budgie/core/turn";
import type { UserGit } from "../git/load-repository.ts";
import { readEntries, TORN } from "../selection/read-entries.ts";
import { selectEntries } from "../selection/select-entries.ts";
import type { CopyWishes, Selection } from "../selection/selection.ts";
import { openBaseFiles, type BaseFiles } from "./base-files.ts";
import { createCopyProgress, type CopyProgress } from "./copy-progress.ts";
import { readOnce } from "./read-once.ts";
import { createSharedReadings } from "./shared-readings.ts";

export type CopiesOptions = {
  /** The folder of the bases in the state directory */
  readonly folder: string;
  readonly wishes: CopyWishes;
  readonly userGit: UserGit;
  /** Collects what an agent changed, given the directory as it was when the copy was made; default: nothing does */
  readonly collect?: CollectChanges | undefined;
};

/** Collects the changes of a copy since its base; resolves to `undefined` if there are none. */
export type CollectChanges = (
  copy: WorkspaceCopy,
  turn: CopyTurn & { readonly base: Manifest },
) => Promise<CopyChanges | undefined>;

/** The copies of a state directory's sessions. */
export type OpenCopies = WorkspaceCopies & { readonly bases: BaseFiles };

/** A file that changes all the time must not keep a turn from its start. */
const ATTEMPTS = 3;
const MOST_SEEN = 1_000;

type SharingTurn = CopyTurn & { readonly sharedBase: SharedBase };

/** Opens the copies of sessions: each is filled once, and remembered with the directory as it was then. */
export function createWorkspaceCopies({ collect, folder, userGit, wishes }: CopiesOptions): OpenCopies {
  const bases = openBaseFiles(folder);
  const seen = new Set<string>();

  const shared = createSharedReadings(({ directory, git }, over) =>
    selectEntries(directory, { wishes, userGit, git, signal: over }).then((selection) =>
      readOnce(selection, { folder, over }),
    ),
  );

  /** Fills a copy over a base of all that was read, or with all of it where the engine has no bases. */
  async function sendShared(copy: WorkspaceCopy, turn: SharingTurn, onProgress: CopyProgress["tell"]) {
    const { directory, sharedBase, signal } = turn;
    const { entries, id, manifest, selection } = await shared.find(turn, sharedBase);
    const told = () => countEntries(entries(), (done) => onProgress(done, manifest.entries.length));
    const over = await copy.fillOver?.({ id, directory, entries: told }, { signal });
    return { selection, manifest, fillId: over ?? (await copy.fill(told(), { signal })) };
  }

  /** Selects and sends the directory, or what was read of it for several copies. */
  async function selectAndSend(copy: WorkspaceCopy, turn: CopyTurn, onProgress: CopyProgress["tell"]) {
    const { directory, git, sharedBase, signal } = turn;
    if (sharedBase !== undefined) return sendShared(copy, { ...turn, sharedBase }, onProgress);
    // Another copy is likely then, and a base would be worth its room.
    if (copy.fillOver !== undefined && seen.has(directory)) {
      const over = new AbortController();
      const base = { over: over.signal };
      return sendShared(copy, { ...turn, sharedBase: base }, onProgress).finally(() => over.abort());
    }
    const selection = await selectEntries(directory, { wishes, userGit, git, signal });
    return { selection, ...(await send(copy, selection, { signal, onProgress })) };
  }

  async function fill(copy: WorkspaceCopy, turn: CopyTurn): Promise<CopyReport> {
    const progress = createCopyProgress(turn.onProgress);
    try {
      const { directory } = turn;
      const { fillId, manifest, selection } = await selectAndSend(copy, turn, progress.tell);
      const { groups, notes } = selection.leftOut.list();
      const facts = { entries: manifest.entries.length, bytes: countBytes(manifest) };
      const report = { ...facts, leftOut: groups.map(({ count, paths, why }) => ({ why, count, paths })), notes };
      await bases.save(turn.sessionId, { fillId, directory, report, manifest });
      if (seen.size < MOST_SEEN) seen.add(directory);
      return { isReused: false, ...report };
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
      const isSame = base?.directory === turn.directory && base.fillId === (await copy.fillId());
      if (isSame) await bases.touch(turn.sessionId);
      return isSame ? { isReused: true, ...base.report } : fill(copy, turn);
    },
    async collect(copy, turn) {
      if (collect === undefined) return undefined;
      const base = await bases.load(turn.sessionId);
      if (base === undefined) throw lostBaseError(turn.sessionId);
      return collect(copy, { ...turn, base: base.manifest });
    },
  };
}

type Sending = Pick<CopyTurn, "signal"> & { readonly onProgress: (done: number, all: number) => void };

/** Sends the selected entries; again if a file changed that was too large to be read at once. */
async function send(
  copy: WorkspaceCopy,
  selection: Selection,
  { onProgress, signal }: Sending,
): Promise<{ readonly fillId: string; readonly manifest: Manifest }> {
  for (let left = ATTEMPTS; ; left--) {
    const entries: TreeEntry[] = [];
    const all = selection.entries.length;
    onProgress(0, all);
    const reading = readEntries(selection, {
      signal,
      onEntry: (entry) => void entries.push(entry),
      onProgress: ({ entries: done }) => onProgress(done, all),
    });
    try {
      return { fillId: await copy.fill(reading, { signal }), manifest: { entries } };
    } catch (error) {
      if (left === 1 || (error as NodeJS.ErrnoException).code !== TORN) throw error;
    }
  }
}

async function* countEntries<Entry>(entries: AsyncIterable<Entry>, onCount: (count: number) => void) {
  let count = 0;
  onCount(count);
  for await (const entry of entries) {
    yield entry;
    onCount(++count);
  }
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

function lostBaseError(sessionId: string): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `The state directory no longer says how the copy of session "${sessionId}" was made, so that nothing can be compared. Begin a new session.`,
  );
}
