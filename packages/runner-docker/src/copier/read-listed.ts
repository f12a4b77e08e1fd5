import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { BudgieError } from "@budgie/core";
import type { FoundEntry, ReadOptions } from "@budgie/core/copies";
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
 * Yields the entries of an open folder that was listed, in which nothing runs. A file can be taken if neither that, nor its folder, nor one above
 * that has changed: a folder that was moved brings files along whose times stay.
 */
export async function* readListed(
  folder: FileHandle,
  listing: Buffer,
  { readAgain, sinceMs, take }: ListedReading,
): AsyncGenerator<FoundEntry> {
  const isOld = createAgeCheck(sinceMs);
  let count = 0;
  for (const listed of parseListing(listing)) {
    // Thousands of entries that nobody reads would keep budgie from everything else.
    if (++count % AT_ONCE === 0) await nextTurn();
    const { path } = listed;
    const isAsFilled = isOld(listed, path);
    if (path === "") continue;
    const entry = toEntry(listed, path);
    if (entry.kind !== "file") yield { entry };
    else if (!isAsFilled || !take(entry)) {
      yield { entry, content: toStream(readFile(folder, listed, () => readAgain(path))) };
    }
  }
}

/** Creates a check of entries, parents first, that returns true for one that has not changed since then, nor a folder above it. */
function createAgeCheck(sinceMs: number): (listed: ListedEntry, path: string) => boolean {
  const changed = new Set<string>();
  let isRootChanged = true;
  // The folder of the entry before, which most entries share.
  let [last, isLastChanged] = ["", true];

  function isFolderChanged(folder: string): boolean {
    if (folder !== last) [last, isLastChanged] = [folder, changed.has(folder)];
    return isLastChanged;
  }

  return ({ changedMs, isCoarse, type }, path) => {
    const isChanged = !(changedMs < sinceMs - (isCoarse ? COARSE_MS : TICK_MS));
    if (path === "") {
      isRootChanged = isChanged;
      return !isChanged;
    }
    const slash = path.lastIndexOf("/");
    // Names that changed in the copy's own folder say nothing of the folders in it, whose own times tell whether they were moved.
    const isBelowChanged = slash === -1 ? isRootChanged && type !== "d" : isFolderChanged(path.slice(0, slash));
    const isOld = !isBelowChanged && !isChanged;
    if (type === "d" && !isOld) changed.add(path);
    return isOld;
  };
}

function toEntry({ mode, size, target, type }: ListedEntry, path: string): FoundEntry["entry"] {
  if (type === "f") return { path, kind: "file", mode: mode & 0o777, size };
  if (type === "d") return { path, kind: "folder", mode: mode & 0o777 };
  return type === "l" ? { path, kind: "link", target } : { path, kind: "other" };
}

function toStream(pieces: AsyncIterable<Buffer>): Readable {
  return Readable.from(pieces, { objectMode: false });
}

/** Reads a file once somebody asks for its content. */
async function* readFile(
  folder: FileHandle,
  listed: ListedEntry,
  readAgain: () => Promise<FoundEntry | undefined>,
): AsyncGenerator<Buffer> {
  const path = Buffer.from(`${descriptorPath(folder)}/${listed.bytes}`, "latin1");
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
    `The copy changed while it was read, at ${JSON.stringify(path.slice(0, 300))}. Ask again.`,
  );
}
