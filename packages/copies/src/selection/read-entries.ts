import { createHash } from "node:crypto";
import { closeSync } from "node:fs";
import { Readable } from "node:stream";
import { BudgieError } from "@budgie/core";
import type { FilledEntry, TreeEntry, TreeFile } from "@budgie/core/copies";
import { createFolderChain, openChildFolder, openRootFolder, pathIn, type FolderChain } from "@budgie/core/walk";
import { READ_FLAGS } from "../git/read-small-file.ts";
import { PIECE_BYTES, POOLED, type FileCalls } from "../host/file-calls.ts";
import { chooseCalls } from "../host/host-folder.ts";
import { LARGEST_COPY } from "./copy-bounds.ts";
import type { LeftOutReason } from "./left-out.ts";
import type { SelectedEntry, Selection } from "./selection.ts";

/** The progress of a copy. */
export type ReadProgress = { readonly entries: number; readonly bytes: number };

export type ReadOptions = {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: ReadProgress) => void) | undefined;
  /** Gets each entry as it was copied */
  readonly onEntry: (entry: TreeEntry) => void;
  /** Finds a file that need not be read, and comes without its content; asked on a disk of this machine alone. Default: there is none */
  readonly findKnown?: ((selected: SelectedEntry) => KnownFile | undefined) | undefined;
};

/** A file whose content was read before. */
export type KnownFile = Extract<TreeEntry, { readonly kind: "file" }>;

/**
 * Reads selected entries, each file through its open folder, as it was at one moment. What is gone or cannot be read is noted as left out. An
 * error ends it if a large file changed while it was sent, since its beginning cannot be taken back.
 */
export async function* readEntries(
  { directory, entries, leftOut }: Selection,
  { findKnown, onEntry, onProgress, signal }: ReadOptions,
): AsyncGenerator<FilledEntry> {
  const chains = new Map<string, Reading>();
  const progress = { entries: 0, bytes: 0 };
  try {
    for (const selected of entries) {
      signal?.throwIfAborted();
      const root = selected.root ?? directory;
      const reading = chains.get(root) ?? (await openRoot(root));
      chains.set(root, reading);
      const found = await findEntry(reading, selected, { findKnown, room: LARGEST_COPY.bytes - progress.bytes });
      if (typeof found === "string") {
        leftOut.add(found, selected.entry.path);
        continue;
      }
      try {
        yield { ...found.filled, mtimeMs: selected.mtimeMs };
      } finally {
        // Closes the file of one that nobody has read to its end.
        if (found.filled.content instanceof Readable) found.filled.content.destroy();
      }
      onEntry(await found.copied());
      progress.entries++;
      progress.bytes += found.filled.entry.kind === "file" ? found.filled.entry.size : 0;
      onProgress?.(progress);
    }
  } finally {
    for (const { chain } of chains.values()) chain.close();
  }
}

/** The open folders of a directory, and the calls by which its files are read. */
type Reading = { readonly chain: FolderChain; readonly calls: FileCalls };

async function openRoot(root: string): Promise<Reading> {
  const folder = await openRootFolder(root).catch((cause: unknown) => {
    const { code } = cause as NodeJS.ErrnoException;
    throw new BudgieError(
      "WORKSPACE_INVALID",
      `"${root}" cannot be copied any more (${code}). Check it, and ask again.`,
      {
        cause,
      },
    );
  });
  const chain = createFolderChain(folder, openChildFolder);
  return { chain, calls: await chooseCalls(root, folder).catch(() => POOLED) };
}

type Found = {
  readonly filled: FilledEntry;
  /** The entry as it was copied, once its content was read */
  readonly copied: () => Promise<TreeEntry>;
};

type Finding = Pick<ReadOptions, "findKnown"> & { readonly room: number };

/** Returns a known file as it is, and reads another entry. A file server's clock says too little of what changed. */
async function findEntry(
  reading: Reading,
  selected: SelectedEntry,
  { findKnown, room }: Finding,
): Promise<Found | LeftOutReason> {
  const known = reading.calls === POOLED ? undefined : findKnown?.(selected);
  if (known === undefined) return readEntry(reading, selected, room);
  return { filled: { entry: known }, copied: async () => known };
}

async function readEntry(
  { calls, chain }: Reading,
  selected: SelectedEntry,
  room: number,
): Promise<Found | LeftOutReason> {
  const { content, entry } = selected;
  if (entry.kind !== "file") return { filled: { entry }, copied: async () => entry };
  if (content !== undefined) return toFound(entry, content);
  const folder = await chain.hold(selected.folder).catch(() => undefined);
  if (folder === undefined) return "changed";
  const fd = await calls.open(pathIn(folder, selected.name), READ_FLAGS).catch(toReason);
  if (typeof fd === "string") return fd;
  return readFile({ fd, calls }, entry, room);
}

function toReason(error: unknown): LeftOutReason {
  const { code } = error as NodeJS.ErrnoException;
  return code === "EACCES" || code === "EPERM" ? "unreadable" : "changed";
}

/** Size up to which a file is read before it is sent, so that one that changes meanwhile can be read again. */
const WHOLE_BYTES = 8 * 1024 ** 2;
const ATTEMPTS = 3;

/** An open file. */
type OpenFile = { readonly fd: number; readonly calls: FileCalls };

async function readFile(file: OpenFile, entry: TreeFile, room: number): Promise<Found | LeftOutReason> {
  let isPassedOn = false;
  try {
    for (let left = ATTEMPTS; left > 0; left--) {
      const before = await facts(file);
      if (before === undefined) return "changed";
      const size = Number(before.size);
      // It has grown since it was selected: the whole was within bounds then.
      if (size > room) return "changed";
      const seen: TreeFile = { ...entry, mode: Number(before.mode) & 0o777, size };
      if (size > WHOLE_BYTES) {
        isPassedOn = true;
        return streamFile(file, seen, before);
      }
      const content = await readWhole(file, size);
      if (content.length === size && isSame(before, await facts(file))) return toFound(seen, content);
    }
    return "changed";
  } catch (error) {
    return toReason(error);
  } finally {
    if (!isPassedOn) closeSync(file.fd);
  }
}

type Facts = Awaited<ReturnType<typeof facts>>;

async function facts({ calls, fd }: OpenFile) {
  const stats = await calls.fstat(fd);
  return stats.isFile() ? stats : undefined;
}

function isSame(before: Facts, after: Facts): boolean {
  return after?.size === before?.size && after?.mtimeNs === before?.mtimeNs && after?.ctimeNs === before?.ctimeNs;
}

async function readWhole({ calls, fd }: OpenFile, size: number): Promise<Buffer> {
  const content = Buffer.allocUnsafe(size);
  let at = 0;
  while (at < size) {
    const bytes = await calls.read(fd, content.subarray(at, at + PIECE_BYTES), at);
    if (bytes === 0) break;
    at += bytes;
  }
  return content.subarray(0, at);
}

function toFound(entry: TreeFile, content: Buffer): Found {
  const digest = createHash("sha256").update(content).digest("hex");
  return {
    filled: { entry: { ...entry, size: content.length }, content },
    copied: async () => ({ ...entry, size: content.length, digest }),
  };
}

function streamFile(file: OpenFile, entry: TreeFile, before: Facts): Found {
  const hash = createHash("sha256");
  let digest: string | undefined;
  async function* read(): AsyncGenerator<Buffer> {
    let left = entry.size;
    for (let at = 0; left > 0;) {
      const piece = Buffer.allocUnsafe(Math.min(left, PIECE));
      // In a thread, since so much keeps others from their work.
      const bytes = await POOLED.read(file.fd, piece, at);
      if (bytes === 0) break;
      hash.update(piece.subarray(0, bytes));
      yield piece.subarray(0, bytes);
      at += bytes;
      left -= bytes;
    }
    if (left > 0 || !isSame(before, await facts(file))) throw tornError(entry.path);
    digest = hash.digest("hex");
  }
  const content = Readable.from(read(), { objectMode: false });
  // Also of one that was destroyed before anybody read it.
  content.once("close", () => closeSync(file.fd));
  return {
    filled: { entry, content },
    copied: async () => {
      if (digest === undefined) throw tornError(entry.path);
      return { ...entry, digest };
    },
  };
}

const PIECE = 1024 ** 2;

/** The code of an error for a file that changed. */
export const TORN = "TORN";

/** Returns an error that is worth another attempt. */
function tornError(path: string): Error {
  return Object.assign(new Error(`"${path}" changed while it was copied.`), { code: TORN });
}
