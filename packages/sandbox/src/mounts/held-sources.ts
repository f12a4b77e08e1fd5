import { constants } from "node:fs";
import { open, readlink, realpath, type FileHandle } from "node:fs/promises";
import { BudgieError } from "@budgie/core";

/** An open file or folder of the host. Its identity distinguishes it from anything that is at the same path later. */
export type HeldSource = {
  readonly path: string;
  /** Path of the descriptor, for access to entries */
  readonly here: string;
  readonly kind: "file" | "folder" | "link" | "other";
  readonly gid: number;
  readonly identity: Identity;
  /** True if symlinks on the path were followed */
  readonly isFollowed: boolean;
};

/** Device and inode. */
type Identity = string;

/** A set of open sources, which are closed when it is disposed. */
export type HeldSources = AsyncDisposable & {
  /**
   * Opens a path, or a name in an open folder. Throws `WORKSPACE_INVALID` if a parent is a symlink. A symlink at the end is opened, not
   * followed.
   */
  open(path: string, folder?: HeldSource): Promise<HeldSource | undefined>;
  /** Opens a path of the user's configuration or of budgie, and follows symlinks. */
  follow(path: string): Promise<HeldSource | undefined>;
};

const isLinux = process.platform === "linux";
// Node has no constant for O_PATH, which needs no read permission and has no effect on a device or pipe.
const O_PATH = 0o10000000;
const PLACE = isLinux ? O_PATH : constants.O_RDONLY | constants.O_NONBLOCK;

/** Creates an empty set of open sources. */
export function createHeldSources(): HeldSources {
  const handles: FileHandle[] = [];

  async function hold(path: string, opened: string, isFollowed: boolean): Promise<HeldSource | undefined> {
    const handle = await openPath(opened, { isFollowed }).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || isFollowed) return undefined;
      throw movedError(path, `cannot be opened (${error.code})`);
    });
    if (handle === undefined) return undefined;
    handles.push(handle);
    if (!isFollowed && (await pathOf(handle, path)) !== path) throw movedError(path);
    return { path, here: isLinux ? descriptorPath(handle) : path, isFollowed, ...(await readFacts(handle)) };
  }

  return {
    open: (name, folder) =>
      folder === undefined ? hold(name, name, false) : hold(`${folder.path}/${name}`, `${folder.here}/${name}`, false),
    follow: (path) => hold(path, path, true),
    [Symbol.asyncDispose]: async () => void (await Promise.all(handles.splice(0).map((handle) => handle.close()))),
  };
}

/** Opens a path, with `O_PATH` on Linux. */
export function openPath(path: string, { isFollowed = false } = {}): Promise<FileHandle> {
  return open(path, isFollowed ? PLACE : PLACE | constants.O_NOFOLLOW);
}

/** Reads the facts of an open path. */
export async function readFacts(handle: FileHandle): Promise<Pick<HeldSource, "gid" | "identity" | "kind">> {
  const facts = await handle.stat({ bigint: true });
  const plain = facts.isDirectory() ? "folder" : facts.isFile() ? "file" : "other";
  return {
    gid: Number(facts.gid),
    identity: `${facts.dev}:${facts.ino}`,
    kind: facts.isSymbolicLink() ? "link" : plain,
  };
}

/** Reads the real path, on Linux from the descriptor. */
async function pathOf(handle: FileHandle, path: string): Promise<string | undefined> {
  return (isLinux ? readlink(descriptorPath(handle)) : realpath(path)).catch(() => undefined);
}

/** Returns the error for a path that an agent could have swapped. */
export function movedError(path: string, what = "was exchanged since it was checked"): BudgieError {
  return new BudgieError("WORKSPACE_INVALID", `"${path}" ${what}. Check it, and ask again.`);
}

/** Returns the path of an open file's descriptor, which is valid even if the file was renamed. */
export function descriptorPath({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`;
}
