import { constants, fstatSync } from "node:fs";
import { open } from "node:fs/promises";
import { isWithin, loadMounts } from "@budgie/core/policy";
import { closeFolder, openChildFolder, openRootFolder, pathIn, type FolderHandle } from "@budgie/core/walk";
import { chooseFileCalls, POOLED, type FileCalls } from "./file-calls.ts";

/** A directory of the host, held open: everything is reached through descriptors, and never through a symlink. */
export type HostFolder = {
  /** Device and inode, which tell the directory from another one at its path */
  readonly identity: string;
  /** Its device; what is mounted in it has another one */
  readonly device: bigint;
  readonly calls: FileCalls;
  /** Runs work in the folder of a path, with the path's last name. Rejects if a folder on the way is missing or a symlink */
  readonly at: <T>(path: string, work: (place: HostPlace) => Promise<T>) => Promise<T>;
  readonly close: () => void;
};

/** A name in an open folder. */
export type HostPlace = { readonly folder: FolderHandle; readonly name: Buffer; readonly path: Buffer };

/** Opens a directory by its real path. */
export async function openHostFolder(directory: string): Promise<HostFolder> {
  const root = await openRootFolder(directory);
  const { dev, ino } = fstatSync(root.fd, { bigint: true });
  const calls = await chooseCalls(directory, root).catch((error: unknown) => {
    closeFolder(root);
    throw error;
  });
  return {
    identity: `${dev}:${ino}`,
    device: dev,
    calls,
    async at(path, work) {
      const names = path.split("/").map((name) => Buffer.from(name));
      const name = names.pop() ?? Buffer.alloc(0);
      const opened: FolderHandle[] = [];
      try {
        for (const step of names) opened.push(await openChildFolder(opened.at(-1) ?? root, step, calls.open));
        const folder = opened.at(-1) ?? root;
        if ((await calls.fstat(folder.fd)).dev !== dev) {
          throw Object.assign(new Error(`"${path}" is on another file system.`), { code: "EXDEV" });
        }
        return await work({ folder, name, path: pathIn(folder, name) });
      } finally {
        opened.forEach(closeFolder);
      }
    },
    close: () => closeFolder(root),
  };
}

/** Chooses the calls for a directory. A path that an agent chose may lead into a mount in it, of a file server that never answers. */
export async function chooseCalls(directory: string, root: FolderHandle): Promise<FileCalls> {
  const hasMounts = await loadMounts().then(
    (mounts) => mounts.some(({ point }) => point !== directory && isWithin(point, directory)),
    () => true,
  );
  return hasMounts ? POOLED : chooseFileCalls(root.at);
}

/** Changes the permission bits of a folder. Rejects for a symlink: an agent that works in the directory may have planted it. */
export async function changeFolderMode(path: Buffer, mode: number): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    await folder.chmod(mode);
  } finally {
    await folder.close();
  }
}
