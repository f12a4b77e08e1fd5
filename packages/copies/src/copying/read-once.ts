import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, rm, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { BudgieError } from "@budgie/core";
import type { FilledEntry, Manifest, TreeEntry } from "@budgie/core/copies";
import { readEntries, TORN, type ReadOptions } from "../selection/read-entries.ts";
import type { Selection } from "../selection/selection.ts";
import { createReferences, watchFill } from "./references.ts";

/** A directory as it was read once, to fill any number of copies. */
export type ReadOnce = {
  readonly selection: Selection;
  readonly manifest: Manifest;
  /** The commits that the references of its git name */
  readonly tips: readonly string[];
  /** The digest of the directory's path and of all that was read, times included */
  readonly id: string;
  readonly entries: () => AsyncGenerator<FilledEntry>;
};

export type ReadOnceOptions = {
  /** The folder of the file that has the contents meanwhile which memory has no room for, and of which nothing is left if budgie dies */
  readonly folder: string;
  /** Aborts when nothing more is filled */
  readonly over: AbortSignal;
  /** Finds a file that is as it was when it was read before: it is read again only for a base that has to be made */
  readonly findKnown?: ReadOptions["findKnown"];
};

/** A file that changes all the time must not keep turns from their start. */
const ATTEMPTS = 3;

// All readings of the process share it. Most directories fit, and one whose base is there already is read for its digests alone.
const memory = { left: 32 * 1024 ** 2 };

/** Reads the selected entries once, into memory as far as there is room, and then into a file without a name. */
export async function readOnce(selection: Selection, { findKnown, folder, over }: ReadOnceOptions): Promise<ReadOnce> {
  over.throwIfAborted();
  const file = await openNameless(folder).catch((cause: unknown) => {
    throw unusable(folder, cause);
  });
  const room = takeRoom();
  const close = (): void => {
    room.release();
    void file.close().catch(() => undefined);
  };
  over.addEventListener("abort", close, { once: true });
  try {
    for (let left = ATTEMPTS; ; left--) {
      try {
        return { selection, ...(await store(selection, { file, room, findKnown }, over)) };
      } catch (error) {
        if (left === 1 || (error as NodeJS.ErrnoException).code !== TORN) throw error;
      }
    }
  } catch (error) {
    over.removeEventListener("abort", close);
    close();
    throw error;
  }
}

async function openNameless(folder: string): Promise<FileHandle> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `shared-${randomUUID()}`);
  const file = await open(path, "wx+", 0o600);
  await rm(path, { force: true });
  return file;
}

type Room = ReturnType<typeof takeRoom>;

/** Creates the room that a reading takes in memory. */
function takeRoom() {
  let taken = 0;
  return {
    has: (bytes: number): boolean => bytes <= memory.left,
    take(bytes: number): void {
      taken += bytes;
      memory.left -= bytes;
    },
    release(): void {
      memory.left += taken;
      taken = 0;
    },
  };
}

/** An entry whose content is held, begins there in the file, or is known by its digest. */
type Stored = Omit<FilledEntry, "content"> & { readonly at: number | Buffer | Unread };

/** A known file that was not read again */
type Unread = { readonly digest: string };

type Storing = { readonly file: FileHandle; readonly room: Room; readonly findKnown: ReadOptions["findKnown"] };

async function store(
  selection: Selection,
  { file, findKnown, room }: Storing,
  over: AbortSignal,
): Promise<Omit<ReadOnce, "selection">> {
  const stored: Stored[] = [];
  const entries: TreeEntry[] = [];
  let end = 0;
  const write = async (piece: Uint8Array): Promise<void> => {
    // At its place, since another attempt begins at the start again.
    for (let done = 0; done < piece.length;) {
      const { bytesWritten } = await file.write(piece, done, undefined, end + done).catch((cause: unknown) => {
        throw unusable(selection.directory, cause);
      });
      done += bytesWritten;
    }
    end += piece.length;
  };
  // Nothing is left of an attempt before.
  await file.truncate(0);
  room.release();
  const references = createReferences("directory");
  const reading = readEntries(selection, { signal: over, findKnown, onEntry: (entry) => void entries.push(entry) });
  for await (const { content, ...filled } of watchFill(reading, references)) {
    if (Buffer.isBuffer(content) && room.has(content.length)) {
      room.take(content.length);
      stored.push({ ...filled, at: content });
      continue;
    }
    if (content === undefined && "digest" in filled.entry) {
      stored.push({ ...filled, at: { digest: String(filled.entry.digest) } });
      continue;
    }
    stored.push({ ...filled, at: end });
    if (content instanceof Readable) for await (const piece of content) await write(piece as Buffer);
    else if (content !== undefined) await write(content);
  }
  const times = stored.map(({ mtimeMs }) => Math.floor((mtimeMs ?? 0) / 1000));
  const id = createHash("sha256").update(selection.directory);
  for (const [index, entry] of entries.entries()) id.update(`\n${JSON.stringify([times[index], entry])}`);
  const tips = references.tips();
  return {
    manifest: { entries },
    tips,
    id: id.digest("hex"),
    entries: () => readStored(stored, { file, selection }, over),
  };
}

type Kept = { readonly file: FileHandle; readonly selection: Selection };

async function* readStored(
  stored: readonly Stored[],
  { file, selection }: Kept,
  over: AbortSignal,
): AsyncGenerator<FilledEntry> {
  const unread = readUnread(stored, selection, over);
  try {
    for (const { at, ...filled } of stored) {
      // Its contents in memory count for others since.
      over.throwIfAborted();
      const { entry } = filled;
      if (entry.kind !== "file") yield filled;
      else if (Buffer.isBuffer(at)) yield { ...filled, content: at };
      else if (typeof at !== "number") yield await unread.read(entry.path);
      else if (entry.size <= PIECE) yield { ...filled, content: await readPiece(file, at, entry.size) };
      else yield { ...filled, content: Readable.from(readPieces(file, at, entry.size), { objectMode: false }) };
    }
    await unread.check();
  } finally {
    await unread.close();
  }
}

/** Creates the reading of the known files, in their order. It throws for one that has another content than its digest says. */
function readUnread(stored: readonly Stored[], selection: Selection, over: AbortSignal) {
  const digests = new Map(
    stored.flatMap(({ at, entry }) => (typeof at === "object" && "digest" in at ? [[entry.path, at.digest]] : [])),
  );
  const entries = digests.size === 0 ? [] : selection.entries.filter(({ entry }) => digests.has(entry.path));
  let torn: string | undefined;
  const reading = readEntries(
    { ...selection, entries },
    {
      signal: over,
      onEntry(entry) {
        if (entry.kind !== "file" || entry.digest !== digests.get(entry.path)) torn = entry.path;
      },
    },
  );

  async function read(path: string): Promise<FilledEntry> {
    const { value } = await reading.next();
    await check();
    if (value === undefined || value.entry.path !== path) throw tornError(path);
    return value;
  }

  async function check(): Promise<void> {
    if (torn !== undefined) throw tornError(torn);
  }

  return {
    read,
    /** Looks at the last one too, which was passed on before it was compared. */
    check: () => reading.next().then(check),
    close: () => reading.return(undefined),
  };
}

function tornError(path: string): Error {
  return Object.assign(new Error(`${JSON.stringify(path)} changed while it was copied.`), { code: TORN });
}

const PIECE = 1024 ** 2;

async function* readPieces(file: FileHandle, at: number, size: number): AsyncGenerator<Buffer> {
  for (let done = 0; done < size; done += PIECE) yield readPiece(file, at + done, Math.min(PIECE, size - done));
}

async function readPiece(file: FileHandle, at: number, size: number): Promise<Buffer> {
  const piece = Buffer.allocUnsafe(size);
  for (let done = 0; done < size;) {
    const { bytesRead } = await file.read(piece, done, size - done, at + done);
    if (bytesRead === 0) throw new Error("The file of a shared base ended early.");
    done += bytesRead;
  }
  return piece;
}

function unusable(what: string, cause: unknown): BudgieError {
  const { code } = cause as NodeJS.ErrnoException;
  return new BudgieError(
    "STATE_UNUSABLE",
    `"${what}" cannot be kept in the state directory for several copies (${code}). Make room there, and ask again.`,
    { cause },
  );
}
