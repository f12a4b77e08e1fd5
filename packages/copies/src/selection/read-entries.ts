import { createHash } from "node:crypto";
import { open, type FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";
import { BudgieError } from "@budgie/core";
import type { FilledEntry, TreeEntry, TreeFile } from "@budgie/core/copies";
import {
  createFolderChain,
  openChildFolder,
  openRootFolder,
  pathIn,
  type FolderChain,
  type FolderHandle,
} from "@budgie/core/walk";
import { READ_FLAGS } from "../git/read-small-file.ts";
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
};

/**
 * Reads selected entries, each file through its open folder, as it was at one moment. What is gone or cannot be read is noted as left out. An
 * error ends it if a large file changed while it was sent, since its beginning cannot be taken back.
 */
export async function* readEntries(
  { directory, entries, leftOut }: Selection,
  { onEntry, onProgress, signal }: ReadOptions,
): AsyncGenerator<FilledEntry> {
  const chains = new Map<string, FolderChain>();
  const progress = { entries: 0, bytes: 0 };
  try {
    for (const selected of entries) {
      signal?.throwIfAborted();
      const root = selected.root ?? directory;
      const chain = chains.get(root) ?? createFolderChain(await openRoot(root), openChildFolder);
      chains.set(root, chain);
      const found = await readEntry(chain, selected, LARGEST_COPY.bytes - progress.bytes);
      if (typeof found === "string") {
        leftOut.add(found, selected.entry.path);
        continue;
      }
      yield { ...found.filled, mtimeMs: selected.mtimeMs };
      onEntry(await found.copied());
      progress.entries++;
      progress.bytes += found.filled.entry.kind === "file" ? found.filled.entry.size : 0;
      onProgress?.(progress);
    }
  } finally {
    for (const chain of chains.values()) chain.close();
  }
}

function openRoot(root: string): Promise<FolderHandle> {
  return openRootFolder(root).catch((cause: unknown) => {
    const { code } = cause as NodeJS.ErrnoException;
    throw new BudgieError(
      "WORKSPACE_INVALID",
      `"${root}" cannot be copied any more (${code}). Check it, and ask again.`,
      {
        cause,
      },
    );
  });
}

type Found = {
  readonly filled: FilledEntry;
  /** The entry as it was copied, once its content was read */
  readonly copied: () => Promise<TreeEntry>;
};

async function readEntry(chain: FolderChain, selected: SelectedEntry, room: number): Promise<Found | LeftOutReason> {
  const { content, entry } = selected;
  if (entry.kind !== "file") return { filled: { entry }, copied: async () => entry };
  if (content !== undefined) return toFound(entry, content);
  const folder = await chain.hold(selected.folder).catch(() => undefined);
  if (folder === undefined) return "changed";
  const file = await open(pathIn(folder, selected.name), READ_FLAGS).catch(toReason);
  if (typeof file === "string") return file;
  return readFile(file, entry, room);
}

function toReason(error: unknown): LeftOutReason {
  const { code } = error as NodeJS.ErrnoException;
  return code === "EACCES" || code === "EPERM" ? "unreadable" : "changed";
}

/** Size up to which a file is read before it is sent, so that one that changes meanwhile can be read again. */
const WHOLE_BYTES = 8 * 1024 ** 2;
const ATTEMPTS = 3;

async function readFile(file: FileHandle, entry: TreeFile, room: number): Promise<Found | LeftOutReason> {
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
    if (!isPassedOn) await file.close();
  }
}

type Facts = Awaited<ReturnType<typeof facts>>;

async function facts(file: FileHandle) {
  const stats = await file.stat({ bigint: true });
  return stats.isFile() ? stats : undefined;
}

function isSame(before: Facts, after: Facts): boolean {
  return after?.size === before?.size && after?.mtimeNs === before?.mtimeNs && after?.ctimeNs === before?.ctimeNs;
}

async function readWhole(file: FileHandle, size: number): Promise<Buffer> {
  const content = Buffer.allocUnsafe(size);
  let at = 0;
  while (at < size) {
    const { bytesRead } = await file.read(content, at, size - at, at);
    if (bytesRead === 0) break;
    at += bytesRead;
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

function streamFile(file: FileHandle, entry: TreeFile, before: Facts): Found {
  const hash = createHash("sha256");
  let digest: string | undefined;
  async function* read(): AsyncGenerator<Buffer> {
    try {
      let left = entry.size;
      for (let at = 0; left > 0;) {
        const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(Math.min(left, PIECE)), 0, undefined, at);
        if (bytesRead === 0) break;
        hash.update(buffer.subarray(0, bytesRead));
        yield buffer.subarray(0, bytesRead);
        at += bytesRead;
        left -= bytesRead;
      }
      if (left > 0 || !isSame(before, await facts(file))) throw tornError(entry.path);
      digest = hash.digest("hex");
    } finally {
      await file.close();
    }
  }
  return {
    filled: { entry, content: Readable.from(read(), { objectMode: false }) },
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
