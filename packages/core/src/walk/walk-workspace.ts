import { opendirSync, type Dir, type Dirent } from "node:fs";
import { setImmediate as letOthersWork } from "node:timers/promises";
import { forEachOf } from "./for-each-of.ts";
import { ROOT, childPath, toPathKey, type FolderPath } from "./folder-path.ts";
import { createFolderChain } from "./folder-chain.ts";
import { openChildFolder, openRootFolder, closeFolder, type FolderHandle, type OpenFolder } from "./open-folder.ts";

export type WalkBounds = { readonly entries: number; readonly timeMs: number };

/** An entry of a folder. Its name is bytes, and need not be text. */
export type Entry = {
  readonly name: Buffer;
  readonly type: "folder" | "file" | "link" | "other";
};

export type VisitedFolder = FolderHandle & {
  readonly path: FolderPath;
  /** True if it was entered late, or is in a folder that was */
  readonly isLate: boolean;
  /** Its entries, a few hundred at a time; ends early when the walk does */
  readonly batches: () => AsyncIterable<readonly Entry[]>;
  /** Works on items, a few at a time; ends early when the walk does */
  readonly forEach: <Item>(items: Iterable<Item>, work: (item: Item) => Promise<unknown>) => Promise<void>;
};

/** A folder to visit, with the caller's own kind for it. */
export type Next<Kind> = {
  readonly name: Buffer;
  readonly kind: Kind;
  /** Visited after all folders that are not late */
  readonly isLate?: boolean;
};

/** A path that was not read, in whole or in part. */
type Unread = {
  /** As {@link toPathKey} writes it */
  readonly path: string;
  readonly why: string;
  /** Code of the error, if there was one */
  readonly code: string | undefined;
};

export type Walk<Kind> = {
  readonly bounds: WalkBounds;
  /** The root's kind */
  readonly kind: Kind;
  /** Looks at a folder, and lists the folders in it to visit */
  readonly visit: (folder: VisitedFolder, kind: Kind) => Promise<readonly Next<Kind>[]>;
  readonly onUnread: (unread: Unread) => void;
  /** Ends the walk; the rest is not reported as unread */
  readonly signal?: AbortSignal | undefined;
  /** Default `openChildFolder` */
  readonly open?: OpenFolder | undefined;
};

const AT_ONCE = 8;
/** The depth of the deepest folder that is entered. Each folder above it holds a descriptor meanwhile. */
export const MOST_LEVELS = 64;
const BATCH = 500;
// Time for a file system call in progress to return.
const GRACE_MS = 500;

/**
 * Visits the folders of a workspace. Each is opened through its open parent and never through a symlink, so a folder that is replaced by
 * a symlink meanwhile is not entered. Visits breadth first, so that a bound cuts off the deepest folders. Keeps few folders open, and
 * never fails.
 */
export async function walkWorkspace<Kind>(root: string, walk: Walk<Kind>): Promise<void> {
  const { entries, timeMs } = walk.bounds;
  const deadline = performance.now() + timeMs;
  const progress: Progress = { entriesLeft: entries, deadline, isNaming: false, isGivenUp: false };
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    const giveUp = (): void => {
      progress.isGivenUp = !progress.isNaming;
      progress.isNaming = false;
      if (!progress.isGivenUp) return void (timer = setTimeout(giveUp, GRACE_MS));
      // A file system whose server is down never answers.
      walk.onUnread({ path: "", why: NO_TIME, code: undefined });
      resolve();
    };
    timer = setTimeout(giveUp, timeMs + GRACE_MS);
  });
  try {
    await Promise.race([walkFrom(root, walk, progress), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The progress of a walk. `isNaming` is true if a folder was reported as unread since the last check, so the walk is about to end. */
type Progress = { entriesLeft: number; readonly deadline: number; isNaming: boolean; isGivenUp: boolean };

/** Folders to visit that have the same parent. */
type Group<Kind> = { readonly path: FolderPath; readonly folders: readonly Next<Kind>[] };

type Lanes<Kind> = { readonly soon: Group<Kind>[]; readonly late: Group<Kind>[] };

const NO_TIME = "there was not enough time to look at all of it";
const TOO_MUCH = "there is too much in it to look at";

async function walkFrom<Kind>(root: string, walk: Walk<Kind>, progress: Progress): Promise<void> {
  const held = await openRootFolder(root).catch((error: unknown) => noteFailure(walk, ROOT, error));
  if (held === undefined) return;
  const chain = createFolderChain(held, walk.open ?? openChildFolder);
  try {
    let lanes = splitLanes(ROOT, await visit({ walk, progress, path: ROOT, kind: walk.kind, isLate: false }, held));
    while (lanes.soon.length + lanes.late.length > 0 && !isEnded(walk, progress)) {
      const [level, late] = lanes.soon.length > 0 ? [lanes.soon, lanes.late] : [lanes.late, []];
      lanes = { soon: [], late };
      for (const group of level) await visitGroup({ chain, walk, progress, lanes }, group);
    }
  } finally {
    chain.close();
  }
}

type GroupVisit<Kind> = {
  readonly chain: ReturnType<typeof createFolderChain>;
  readonly walk: Walk<Kind>;
  readonly progress: Progress;
  readonly lanes: Lanes<Kind>;
};

async function visitGroup<Kind>({ chain, lanes, progress, walk }: GroupVisit<Kind>, group: Group<Kind>): Promise<void> {
  if (isEnded(walk, progress)) return;
  const parent = await chain.hold(group.path).catch((error: unknown) => noteFailure(walk, group.path, error));
  if (parent === undefined) return;
  await forEachOf(group.folders, AT_ONCE, async ({ isLate = false, kind, name }) => {
    const path = childPath(group.path, name);
    const reason = findReasonNotToLook(path, progress);
    if (isEnded(walk, progress)) return;
    if (reason !== undefined) {
      walk.onUnread({ path: toPathKey(path), why: reason, code: undefined });
      progress.isNaming = true;
      // There may be very many, with long paths.
      return letOthersWork();
    }
    const open = walk.open ?? openChildFolder;
    const folder = await open(parent, name).catch((error: unknown) => noteFailure(walk, path, error));
    if (folder === undefined) return;
    try {
      const next = await visit({ walk, progress, path, kind, isLate }, folder);
      const { late, soon } = splitLanes(path, isLate ? next.map((one) => ({ ...one, isLate })) : next);
      lanes.soon.push(...soon);
      lanes.late.push(...late);
    } finally {
      closeFolder(folder);
    }
  });
}

function findReasonNotToLook({ depth }: FolderPath, progress: Progress): string | undefined {
  if (depth > MOST_LEVELS) return `it lies more than ${MOST_LEVELS} folders deep`;
  if (performance.now() > progress.deadline) return NO_TIME;
  return progress.entriesLeft <= 0 ? TOO_MUCH : undefined;
}

function isEnded<Kind>({ signal }: Walk<Kind>, { isGivenUp }: Progress): boolean {
  return isGivenUp || signal?.aborted === true;
}

type Visit<Kind> = {
  readonly walk: Walk<Kind>;
  readonly progress: Progress;
  readonly path: FolderPath;
  readonly kind: Kind;
  readonly isLate: boolean;
};

async function visit<Kind>(visiting: Visit<Kind>, folder: FolderHandle): Promise<readonly Next<Kind>[]> {
  const { isLate, kind, path, walk } = visiting;
  try {
    return await walk.visit(
      {
        ...folder,
        path,
        isLate,
        batches: () => readBatches(visiting, folder),
        forEach: (items, work) => forEachOf(whileThereIsTime(visiting, items), AT_ONCE, work),
      },
      kind,
    );
  } catch (error) {
    noteFailure(walk, path, error);
    return [];
  }
}

function* whileThereIsTime<Kind, Item>({ path, progress, walk }: Visit<Kind>, items: Iterable<Item>): Generator<Item> {
  for (const item of items) {
    if (isEnded(walk, progress)) return;
    if (performance.now() > progress.deadline) {
      return walk.onUnread({ path: toPathKey(path), why: NO_TIME, code: undefined });
    }
    yield item;
  }
}

async function* readBatches<Kind>(
  { path, progress, walk }: Visit<Kind>,
  { at }: FolderHandle,
): AsyncGenerator<Entry[]> {
  // Opening and closing by a descriptor's path does not block; reading may.
  const folder = opendirSync(at as unknown as string, { encoding: "buffer" as BufferEncoding, bufferSize: BATCH });
  try {
    for (let batch = await readBatch(folder); batch.length > 0; batch = await readBatch(folder)) {
      if (isEnded(walk, progress)) return;
      const reason = batch.length > progress.entriesLeft ? TOO_MUCH : findReasonNotToLook(path, progress);
      if (reason !== undefined) walk.onUnread({ path: toPathKey(path), why: reason, code: undefined });
      if (reason !== undefined && reason !== TOO_MUCH) return;
      yield batch.slice(0, progress.entriesLeft);
      progress.entriesLeft -= batch.length;
      if (batch.length < BATCH || reason !== undefined) return;
    }
  } finally {
    folder.closeSync();
  }
}

/** Reads the next entries. The first is read in the thread pool; the others are then in the buffer. */
async function readBatch(folder: Dir): Promise<Entry[]> {
  const batch: Entry[] = [];
  for (let entry = await folder.read(); entry !== null; entry = folder.readSync()) {
    batch.push({ name: entry.name as unknown as Buffer, type: typeOf(entry) });
    if (batch.length === BATCH) break;
  }
  return batch;
}

function typeOf(entry: Dirent): Entry["type"] {
  if (entry.isDirectory()) return "folder";
  if (entry.isFile()) return "file";
  return entry.isSymbolicLink() ? "link" : "other";
}

function splitLanes<Kind>(path: FolderPath, folders: readonly Next<Kind>[]): Lanes<Kind> {
  const soon = folders.filter(({ isLate }) => isLate !== true);
  const late = folders.filter(({ isLate }) => isLate === true);
  return { soon: groupFolders(path, soon), late: groupFolders(path, late) };
}

function groupFolders<Kind>(path: FolderPath, folders: readonly Next<Kind>[]): Group<Kind>[] {
  return folders.length === 0 ? [] : [{ path, folders }];
}

/** Reports a folder as unread. An error without a code is a bug, and is thrown. */
function noteFailure<Kind>(walk: Walk<Kind>, path: FolderPath, error: unknown): undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code !== "string") throw error;
  walk.onUnread({ path: toPathKey(path), why: `it cannot be read (${code})`, code });
}
