import { closeSync, constants, open } from "node:fs";
import { readlink } from "node:fs/promises";
import { platform } from "node:process";
import { promisify } from "node:util";

/** An open folder: access through it stays inside it, even if its path has changed since. */
export type FolderHandle = {
  readonly fd: number;
  /** Path of the descriptor, which no symlink can redirect; on macOS the plain path */
  readonly at: Buffer;
};

/** Opens a folder inside an open one. */
export type OpenFolder = (parent: FolderHandle, name: Buffer) => Promise<FolderHandle>;

/** Opens a path, and returns its descriptor. */
export type OpenCall = (path: Buffer, flags: number) => Promise<number>;

/** Opens a folder by its real path; fails with `ESTALE` if there is a symlink on the way. */
export async function openRootFolder(path: string): Promise<FolderHandle> {
  const root = await hold(Buffer.from(path));
  // The kernel's own path of the opened folder.
  if (!IS_LINUX || (await readlink(root.at).catch(() => undefined)) === path) return root;
  closeFolder(root);
  throw Object.assign(new Error(`"${path}" is not a folder's own path.`), { code: "ESTALE" });
}

/** Opens a folder inside an open one, and fails if it is a symlink. `call` opens it; default a thread of the pool. */
export function openChildFolder(parent: FolderHandle, name: Buffer, call?: OpenCall): Promise<FolderHandle> {
  return hold(pathIn(parent, name), call);
}

/** Closes a folder, synchronously because closing does not block. */
export function closeFolder({ fd }: FolderHandle): void {
  closeSync(fd);
}

/** Returns the path of a name in an open folder. The name may be a symlink. */
export function pathIn({ at }: FolderHandle, name: Buffer): Buffer {
  return Buffer.concat([at, SLASH, name]);
}

const IS_LINUX = platform === "linux";
const SLASH = Buffer.from("/");
// O_NONBLOCK, so that neither a pipe nor a file leased by another program blocks.
const FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

async function hold(path: Buffer, call: OpenCall = promisify(open)): Promise<FolderHandle> {
  const fd = await call(path, FLAGS);
  return { fd, at: IS_LINUX ? Buffer.from(`/proc/self/fd/${fd}`) : path };
}
