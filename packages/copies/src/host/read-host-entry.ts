import { createHash } from "node:crypto";
import { closeSync, constants, type BigIntStats } from "node:fs";
import { open, readlink, type FileHandle } from "node:fs/promises";
import { PIECE_BYTES, POOLED, type FileCalls } from "./file-calls.ts";

/** An entry of the host, as it is now. */
export type HostEntry =
  | { readonly kind: "missing" | "other" }
  | (HostFacts & { readonly kind: "folder" })
  | (HostFacts & { readonly kind: "link"; readonly target: string })
  | (HostFacts & {
      readonly kind: "file";
      readonly size: number;
      /** `undefined` if it was not read, or did not stay the same meanwhile */
      readonly digest: string | undefined;
    });

type HostFacts = {
  /** Permission bits, with setuid, setgid and sticky */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly links: number;
  /** Device and inode */
  readonly identity: string;
  /** Identity, mode, links, size and time of the last write, none of which changes when it is renamed */
  readonly seen: string;
};

/** Chooses the files to read, by their size. */
export type ShouldRead = (size: number) => boolean;

/** Reads an entry without following symlinks. A file is read if `shouldRead` says so. */
export async function readHostEntry(path: Buffer, shouldRead: ShouldRead, calls = POOLED): Promise<HostEntry> {
  const found = await calls.lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (found === undefined) return { kind: "missing" };
  if (found.isDirectory()) return { kind: "folder", ...toFacts(found) };
  if (found.isSymbolicLink()) return readLink(path, found);
  return found.isFile() ? readFile(path, shouldRead, calls) : { kind: "other" };
}

function toFacts(found: BigIntStats): HostFacts {
  const { dev, gid, ino, mode, nlink, uid } = found;
  const [links, bits] = [Number(nlink), Number(mode) & 0o7777];
  const seen = toSeen(found);
  return { mode: bits, uid: Number(uid), gid: Number(gid), links, identity: `${dev}:${ino}`, seen };
}

/** Returns the facts of an entry by which it is known again without being read. */
export function toSeen({ dev, ino, mode, mtimeNs, nlink, size }: BigIntStats): string {
  return [dev, ino, mode, nlink, size, mtimeNs].join(":");
}

async function readLink(path: Buffer, found: BigIntStats): Promise<HostEntry> {
  const bytes = await readlink(path, "buffer");
  const target = bytes.toString("utf8");
  // A target that is no text could be compared with another one as equal.
  return Buffer.from(target).equals(bytes) ? { kind: "link", ...toFacts(found), target } : { kind: "other" };
}

async function readFile(path: Buffer, shouldRead: ShouldRead, calls: FileCalls): Promise<HostEntry> {
  // Neither follows a symlink nor waits for a pipe that replaced the file.
  const fd = await calls.open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const before = await calls.fstat(fd);
    if (!before.isFile()) return { kind: "other" };
    const size = Number(before.size);
    const digest = shouldRead(size) ? await hashFile(fd, before, calls) : undefined;
    return { kind: "file", ...toFacts(before), size, digest };
  } finally {
    closeSync(fd);
  }
}

/** Reads the content of a file of at most `maxBytes`, without following symlinks; `undefined` if it is none. */
export async function readHostFile(
  path: Buffer,
  maxBytes: number,
): Promise<{ readonly content: Buffer; readonly mode: number } | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    if (!found.isFile() || found.size > maxBytes) return undefined;
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of readPieces(file)) {
      bytes += piece.length;
      // It may grow meanwhile.
      if (bytes > maxBytes) return undefined;
      pieces.push(piece);
    }
    return { content: Buffer.concat(pieces), mode: found.mode };
  } finally {
    await file.close();
  }
}

/** Hashes a file; `undefined` if it changed while it was read. */
async function hashFile(fd: number, before: BigIntStats, calls: FileCalls): Promise<string | undefined> {
  const hash = createHash("sha256");
  const size = Number(before.size);
  const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, size));
  let position = 0;
  // One that grows meanwhile has another size at the end.
  for (let bytes = -1; bytes !== 0 && position < size; position += bytes) {
    bytes = await calls.read(fd, piece, position);
    hash.update(piece.subarray(0, bytes));
  }
  const after = await calls.fstat(fd);
  const isSame = after.size === before.size && after.mtimeNs === before.mtimeNs && after.ctimeNs === before.ctimeNs;
  return isSame ? hash.digest("hex") : undefined;
}

/** Yields the content of an open file from its beginning. A stream would take four times as long for small files. */
export async function* readPieces(file: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ;) {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.allocUnsafe(PIECE_BYTES), position });
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
