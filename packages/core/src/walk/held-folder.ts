import { closeSync, constants, open } from "node:fs";
import { readlink } from "node:fs/promises";
import { platform } from "node:process";
import { promisify } from "node:util";

/** A folder that is held open: what is reached through it is in it, whatever its path leads to by now. */
export type HeldFolder = {
  readonly fd: number;
  /** Leads to the folder itself, and never to what took its place; on macOS it is a path like any other */
  readonly at: Buffer;
};

/** Opens a folder inside a held one. */
export type OpenFolder = (parent: HeldFolder, name: Buffer) => Promise<HeldFolder>;

/** Holds a folder by its real path; fails with `ESTALE` where the path leads through a link by now. */
export async function holdRoot(path: string): Promise<HeldFolder> {
  const root = await hold(Buffer.from(path));
  // The kernel's own name for what was opened.
  if (!IS_LINUX || (await readlink(root.at).catch(() => undefined)) === path) return root;
  letGo(root);
  throw Object.assign(new Error(`"${path}" is not a folder's own path.`), { code: "ESTALE" });
}

/** Opens a folder inside a held one, which no link that took its place can lead elsewhere. */
export function holdChild(parent: HeldFolder, name: Buffer): Promise<HeldFolder> {
  return hold(toPathIn(parent, name));
}

/** Closes a held folder, which waits for nothing. */
export function letGo({ fd }: HeldFolder): void {
  closeSync(fd);
}

/** The path by which the kernel finds a name in a held folder. Its last step may be a link. */
export function toPathIn({ at }: HeldFolder, name: Buffer): Buffer {
  return Buffer.concat([at, SLASH, name]);
}

const IS_LINUX = platform === "linux";
const SLASH = Buffer.from("/");
// Not to block on what is no folder, nor on a file that another program has leased.
const FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

async function hold(path: Buffer): Promise<HeldFolder> {
  const fd = await promisify(open)(path, FLAGS);
  return { fd, at: IS_LINUX ? Buffer.from(`/proc/self/fd/${fd}`) : path };
}
