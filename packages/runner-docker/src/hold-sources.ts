import { constants } from "node:fs";
import { open, readlink, realpath, type FileHandle } from "node:fs/promises";
import { BudgieError } from "@budgie/core";
import { toOpened } from "./enter-container.ts";

/** A file or folder of the host held open, so that it can be told from whatever takes its path later. */
export type HeldSource = {
  readonly path: string;
  /** Goes before a slash and the name of something in it, whatever becomes of its path */
  readonly here: string;
  readonly kind: "file" | "folder" | "link" | "other";
  readonly gid: number;
  readonly identity: Identity;
  /** Whether links on the way to it are the user's own, and followed */
  readonly isFollowed: boolean;
};

/** Tells a file or folder of this machine from all others: its device and inode. */
type Identity = string;

/** Opens sources, and holds all of them until it is disposed of. */
export type Holds = AsyncDisposable & {
  /** Opens a path, or a name in a folder that is held; throws `WORKSPACE_INVALID` if a link is on the way. A link itself is held as one. */
  open(path: string, folder?: HeldSource): Promise<HeldSource | undefined>;
  /** Opens what the user configured, or budgie made: links on the way are theirs. */
  follow(path: string): Promise<HeldSource | undefined>;
};

const isLinux = process.platform === "linux";
// Node has no name for it. It needs no right to read, and wakes nothing up that a name may stand for.
const O_PATH = 0o10000000;
const PLACE = isLinux ? O_PATH : constants.O_RDONLY | constants.O_NONBLOCK;

/** Holds nothing yet. */
export function createHolds(): Holds {
  const handles: FileHandle[] = [];

  async function hold(path: string, opened: string, isFollowed: boolean): Promise<HeldSource | undefined> {
    const handle = await openPlace(opened, { isFollowed }).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || isFollowed) return undefined;
      throw toMoved(path, `cannot be opened (${error.code})`);
    });
    if (handle === undefined) return undefined;
    handles.push(handle);
    if (!isFollowed && (await pathOf(handle, path)) !== path) throw toMoved(path);
    return { path, here: isLinux ? toOpened(handle) : path, isFollowed, ...(await toFacts(handle)) };
  }

  return {
    open: (name, folder) =>
      folder === undefined ? hold(name, name, false) : hold(`${folder.path}/${name}`, `${folder.here}/${name}`, false),
    follow: (path) => hold(path, path, true),
    [Symbol.asyncDispose]: async () => void (await Promise.all(handles.splice(0).map((handle) => handle.close()))),
  };
}

/** Opens a path as a place, without what is in it. */
export function openPlace(path: string, { isFollowed = false } = {}): Promise<FileHandle> {
  return open(path, isFollowed ? PLACE : PLACE | constants.O_NOFOLLOW);
}

/** Tells what an open place is. */
export async function toFacts(handle: FileHandle): Promise<Pick<HeldSource, "gid" | "identity" | "kind">> {
  const facts = await handle.stat({ bigint: true });
  const plain = facts.isDirectory() ? "folder" : facts.isFile() ? "file" : "other";
  return {
    gid: Number(facts.gid),
    identity: `${facts.dev}:${facts.ino}`,
    kind: facts.isSymbolicLink() ? "link" : plain,
  };
}

/** Where it really is: on Linux the kernel knows. */
async function pathOf(handle: FileHandle, path: string): Promise<string | undefined> {
  return (isLinux ? readlink(toOpened(handle)) : realpath(path)).catch(() => undefined);
}

/** The error for what an agent could have put in the place of something else. */
export function toMoved(
  path: string,
  what = "is another one than was checked: its path was turned elsewhere",
): BudgieError {
  return new BudgieError("WORKSPACE_INVALID", `"${path}" ${what}. Check it, and ask again.`);
}
