import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { BudgieError } from "@budgie/core";
import type { FoundEntry, ReadOptions, TreeFile } from "@budgie/core/copies";
import { descriptorPath } from "@budgie/sandbox/mounts";
import { parseListing, type ListedEntry } from "@budgie/sandbox/proc";

type ListedReading = Required<ReadOptions> & {
  /** The time at which no agent had begun to change anything, in milliseconds since 1970 */
  readonly sinceMs: number;
  /** Reads a file in another way; `undefined` if it is gone */
  readonly readAgain: (path: string) => Promise<FoundEntry | undefined>;
};

// The kernel's clock of files goes by ticks of up to 10 ms.
const TICK_MS = 50;
const COARSE_MS = 2000;
const AT_ONCE = 500;

/**
 * Yields the entries of an open folder that was listed, in which nothing runs. A file comes without its content if neither that, nor its
 * folder, nor one above that has changed: a folder that was moved brings files along whose times stay.
 */
export async function* readListed(
  folder: FileHandle,
  listing: Buffer,
  { isKnown, readAgain, sinceMs }: ListedReading,
): AsyncGenerator<FoundEntry> {
  const isChanged = ({ changedMs, isCoarse }: ListedEntry): boolean =>
    !(changedMs < sinceMs - (isCoarse ? COARSE_MS : TICK_MS));
  const changed = new Set<string>();
  let [count, isRootChanged] = [0, true];
  for (const listed of parseListing(listing)) {
    // Thousands of entries that nobody reads would keep budgie from everything else.
    if (++count % AT_ONCE === 0) await nextTurn();
    const path = listed.path.toString();
    if (path === "") isRootChanged = isChanged(listed);
    else {
      const slash = path.lastIndexOf("/");
      // Names that changed in the copy's own folder say nothing of the folders in it, whose own times tell whether they were moved.
      const isBelowChanged = slash === -1 ? isRootChanged && listed.type !== "d" : changed.has(path.slice(0, slash));
      const isOld = !isBelowChanged && !isChanged(listed);
      if (listed.type === "d" && !isOld) changed.add(path);
      yield toFound(listed, path, (file) =>
        isOld && isKnown(file) ? undefined : readFile(folder, listed, () => readAgain(path)),
      );
    }
  }
}

type ReadContent = (file: TreeFile) => AsyncIterable<Buffer> | undefined;

function toFound({ mode, size, target, type }: ListedEntry, path: string, read: ReadContent): FoundEntry {
  if (type === "d") return { entry: { path, kind: "folder", mode: mode & 0o777 } };
  if (type === "l") return { entry: { path, kind: "link", target: target.toString() } };
  if (type !== "f") return { entry: { path, kind: "other" } };
  const entry: TreeFile = { path, kind: "file", mode: mode & 0o777, size };
  const pieces = read(entry);
  if (pieces === undefined) return { entry, isAsFilled: true };
  return { entry, content: Readable.from(pieces, { objectMode: false }) };
}

/** Reads a file once somebody asks for its content. */
async function* readFile(
  folder: FileHandle,
  listed: ListedEntry,
  readAgain: () => Promise<FoundEntry | undefined>,
): AsyncGenerator<Buffer> {
  const path = Buffer.concat([Buffer.from(`${descriptorPath(folder)}/`), listed.path]);
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined,
  );
  if (file === undefined) {
    // Its rights, or the length of its path.
    const content = (await readAgain())?.content;
    if (content === undefined) throw changedError(listed);
    yield* content as AsyncIterable<Buffer>;
    return;
  }
  try {
    const facts = await file.stat({ bigint: true });
    if (!facts.isFile() || String(facts.ino) !== listed.inode || Number(facts.size) !== listed.size)
      throw changedError(listed);
    yield* readPieces(file, listed.size);
  } finally {
    await file.close();
  }
}

const PIECE = 256 * 1024;

async function* readPieces(file: FileHandle, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < size;) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE, size - at));
    const { bytesRead } = await file.read(piece, 0, piece.length, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}

function changedError({ path }: ListedEntry): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The copy changed while it was read, at ${JSON.stringify(path.toString().slice(0, 300))}. Ask again.`,
  );
}
