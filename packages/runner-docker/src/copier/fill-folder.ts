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
import { setImmediate as letOthersWork } from "node:timers/promises";
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
  const links = new Set<string>();
  for await (const { content, entry, mtimeMs = Date.now() } of entries) {
    signal.throwIfAborted();
    // The kernel refuses a symlink only as the last name of a path.
    if (links.size > 0 && isBelow(entry.path, links))
      throw new TypeError(`${JSON.stringify(entry.path)} is below a symlink.`);
    const path = `${descriptorPath(root)}/${entry.path}`;
    // As precise as in the engine's archives.
    const seconds = Math.floor(mtimeMs / 1000);
    if (entry.kind === "file") await writeFile({ path, mode: entry.mode, seconds, user }, content);
    else if (entry.kind === "link") {
      symlinkSync(entry.target, path);
      links.add(entry.path);
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

/** Returns true if one of these paths is above a path. */
function isBelow(path: string, places: ReadonlySet<string>): boolean {
  for (let end = path.indexOf("/"); end !== -1; end = path.indexOf("/", end + 1)) {
    if (places.has(path.slice(0, end))) return true;
  }
  return false;
}

type NewFile = { readonly path: string; readonly mode: number; readonly seconds: number; readonly user: SandboxUser };

async function writeFile({ mode, path, seconds, user }: NewFile, content: FilledEntry["content"]): Promise<void> {
  const file = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
  try {
    if (Buffer.isBuffer(content)) await writeAll(file, content);
    else for await (const piece of (content ?? []) as AsyncIterable<Buffer>) await writeAll(file, piece);
    fchownSync(file, user.uid, user.gid);
    fchmodSync(file, mode);
    futimesSync(file, seconds, seconds);
  } finally {
    closeSync(file);
  }
}

const PIECE = 256 * 1024;

/** Writes a content, of which a large one would keep budgie from everything else. */
async function writeAll(file: number, content: Buffer): Promise<void> {
  for (let done = 0; done < content.length;) {
    if (done > 0) await letOthersWork();
    done += writeSync(file, content, done, Math.min(PIECE, content.length - done));
  }
}
