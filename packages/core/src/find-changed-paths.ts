import { constants } from "node:fs";
import { lstat, opendir } from "node:fs/promises";
import pLimit from "p-limit";
import { hasLocalClock } from "./has-local-clock.ts";
import { isSince } from "./is-since.ts";

/** What was found in a folder, as far as it could be looked at. */
export type ChangedPaths = {
  /** Below the folder, as the file system has them; what is a folder ends with `/` */
  readonly paths: readonly Buffer[];
  /** Why there may be more; `undefined` if that is all */
  readonly unread: { readonly path: Buffer; readonly why: string } | undefined;
};

export type WalkBounds = { readonly entries: number; readonly timeMs: number };

/**
 * Finds everything in a folder whose state is from `sinceMs` or later, by its ctime, which no program can set. What was removed shows in
 * the folder that it was in. Follows no link, reads no file, and never fails.
 */
export async function findChangedPaths(root: string, sinceMs: number, bounds: WalkBounds): Promise<ChangedPaths> {
  const walk: Walk = { root: Buffer.from(root), sinceMs, devices: new Set(), found: [], unread: undefined, ...bounds };
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      stopAt(walk, ROOT, "there was not enough time to look at all of it");
      resolve();
    }, bounds.timeMs);
  });
  // A file system whose server is gone never answers.
  await Promise.race([walkFrom(walk), late]);
  clearTimeout(timer);
  return { paths: toPlainest(walk.found), unread: walk.unread };
}

type Walk = {
  readonly root: Buffer;
  readonly sinceMs: number;
  /** Those that are known to have this machine's times */
  readonly devices: Set<number>;
  readonly found: Found[];
  unread: ChangedPaths["unread"];
  entries: number;
};

type Found = { readonly path: Buffer; readonly isFolder: boolean; readonly isNew: boolean };

const ROOT = Buffer.alloc(0);
const SLASH = Buffer.from("/");

async function walkFrom(walk: Walk): Promise<void> {
  const limit = pLimit(16);
  // Breadth first: when a bound is met, what lies near the root has been seen.
  let level: readonly Buffer[] = (await look(walk, ROOT)) ? [ROOT] : [];
  while (level.length > 0 && walk.unread === undefined) {
    level = (await Promise.all(level.map((folder) => limit(() => visit(walk, folder))))).flat();
  }
}

// More at once would not be faster, and each takes memory.
const AT_ONCE = 500;

/** Looks at all that is in a folder, and gives back the folders in it. */
async function visit(walk: Walk, folder: Buffer): Promise<readonly Buffer[]> {
  const folders: Buffer[] = [];
  let batch: Buffer[] = [];
  const lookAtBatch = async (): Promise<void> => {
    const isFolder = await Promise.all(batch.map((path) => look(walk, path)));
    folders.push(...batch.filter((_, index) => isFolder[index]));
    batch = [];
  };
  try {
    // One entry after another, since an agent can put millions into a folder; as bytes, since a name need not be text.
    const encoding = "buffer" as BufferEncoding;
    for await (const { name } of await opendir(toHostPath(walk, folder), { encoding, bufferSize: AT_ONCE })) {
      if (walk.unread !== undefined) return [];
      if (--walk.entries < 0) stopAt(walk, folder, "there is too much in it to look at");
      batch.push(toChild(folder, name as unknown as Buffer));
      if (batch.length >= AT_ONCE) await lookAtBatch();
    }
    await lookAtBatch();
  } catch (error) {
    stopAt(walk, folder, `it cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  return folders;
}

/** Notes a path if it has changed, and tells whether it is a folder to go into. */
async function look(walk: Walk, path: Buffer): Promise<boolean> {
  try {
    const { birthtimeMs, ctimeMs, dev, mode } = await lstat(toHostPath(walk, path));
    const isFolder = (mode & constants.S_IFMT) === constants.S_IFDIR;
    if (isFolder && !walk.devices.has(dev)) {
      if (!(await hasLocalClock(toHostPath(walk, path)))) stopAt(walk, path, "its file system may have another clock");
      walk.devices.add(dev);
    }
    const isNew = isSince(birthtimeMs, walk.sinceMs);
    if (isSince(ctimeMs, walk.sinceMs)) walk.found.push({ path, isFolder, isNew });
    return isFolder;
  } catch (error) {
    // One that is gone, too: somebody is still at work there.
    stopAt(walk, path, `it cannot be looked at (${(error as NodeJS.ErrnoException).code})`);
    return false;
  }
}

function stopAt(walk: Walk, path: Buffer, why: string): void {
  walk.unread ??= { path, why };
}

/** A folder changes with what is made and removed in it: where something new in it is named, it says nothing more. */
function toPlainest(found: readonly Found[]): readonly Buffer[] {
  const parents = new Set(found.filter(({ isNew }) => isNew).map(({ path }) => toKey(toParent(path))));
  return found
    .filter(({ isFolder, path }) => !(isFolder && parents.has(toKey(path))))
    .map(({ isFolder, path }) => (isFolder ? Buffer.concat([path, SLASH]) : path));
}

function toParent(path: Buffer): Buffer {
  return path.subarray(0, Math.max(path.lastIndexOf(SLASH), 0));
}

function toKey(path: Buffer): string {
  return path.toString("latin1");
}

function toChild(folder: Buffer, name: Buffer): Buffer {
  return folder.length === 0 ? name : Buffer.concat([folder, SLASH, name]);
}

function toHostPath({ root }: Walk, path: Buffer): Buffer {
  // With a slash behind it, a link that took the root's place would be followed.
  return path.length === 0 ? root : Buffer.concat([root, SLASH, path]);
}
