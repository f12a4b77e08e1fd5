import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  futimesSync,
  lchownSync,
  mkdirSync,
  openSync,
  symlinkSync,
  utimesSync,
  writeSync,
} from "node:fs";
import type { FileHandle } from "node:fs/promises";
import type { FilledEntry } from "@budgie/core/copies";
import { descriptorPath } from "@budgie/sandbox/mounts";
import type { SandboxUser } from "@budgie/sandbox/profile";

type Filling = { readonly user: SandboxUser; readonly signal: AbortSignal };

/**
 * Fills a new volume's folder on this machine, which nothing else has open. Only root can. An entry is written at once, since each call that
 * waits for another thread takes longer than the writing.
 */
export async function fillFolder(
  root: FileHandle,
  entries: AsyncIterable<FilledEntry>,
  { signal, user }: Filling,
): Promise<void> {
  const folders: { readonly path: string; readonly mode: number; readonly seconds: number }[] = [];
  for await (const { content, entry, mtimeMs = Date.now() } of entries) {
    signal.throwIfAborted();
    const path = `${descriptorPath(root)}/${entry.path}`;
    // As precise as in the engine's archives.
    const seconds = Math.floor(mtimeMs / 1000);
    if (entry.kind === "file") await writeFile({ path, mode: entry.mode, seconds, user }, content);
    else if (entry.kind === "link") {
      symlinkSync(entry.target, path);
      lchownSync(path, user.uid, user.gid);
    } else {
      mkdirSync(path, 0o700);
      folders.push({ path, mode: entry.mode, seconds });
    }
  }
  // Whatever is written into a folder changes its time.
  for (const { mode, path, seconds } of folders.toReversed()) {
    lchownSync(path, user.uid, user.gid);
    chmodSync(path, mode);
    utimesSync(path, seconds, seconds);
  }
  await root.chown(user.uid, user.gid);
  await root.chmod(0o755);
}

type NewFile = { readonly path: string; readonly mode: number; readonly seconds: number; readonly user: SandboxUser };

async function writeFile({ mode, path, seconds, user }: NewFile, content: FilledEntry["content"]): Promise<void> {
  const file = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
  try {
    if (Buffer.isBuffer(content)) writeAll(file, content);
    else for await (const piece of (content ?? []) as AsyncIterable<Buffer>) writeAll(file, piece);
    fchownSync(file, user.uid, user.gid);
    fchmodSync(file, mode);
    futimesSync(file, seconds, seconds);
  } finally {
    closeSync(file);
  }
}

function writeAll(file: number, piece: Buffer): void {
  for (let done = 0; done < piece.length;) done += writeSync(file, piece, done);
}
