import { constants } from "node:fs";
import { open, readFile, type FileHandle } from "node:fs/promises";
import { parseMounts } from "@budgie/core/policy";
import { descriptorPath, openPath } from "../mounts/held-sources.ts";
import type { ContainerRoot } from "./open-root.ts";

/** Opens the folder that is mounted at a path of a container, and outlives it while it is open; `undefined` if none is mounted just there. */
export async function openMount(root: ContainerRoot, target: string): Promise<FileHandle | undefined> {
  const folder = await open(root.path + target, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    // A symlink of the image on the way would have led to a folder of the host.
    const [id, table] = await Promise.all([readMountId(folder), root.readMounts()]);
    if (parseMounts(table).some((mount) => mount.id === id && mount.point === target)) return folder;
  } catch (error) {
    await folder.close();
    throw error;
  }
  await folder.close();
  return undefined;
}

/** Returns true if no other mount covers one of these paths below an open mount any more. */
export async function isUncovered(mount: FileHandle, paths: readonly string[]): Promise<boolean> {
  const own = await readMountId(mount);
  const found = paths.map(async (path) => {
    const place = await openPath(`${descriptorPath(mount)}/${path}`).catch(() => undefined);
    // One that is missing covers nothing.
    if (place === undefined) return true;
    try {
      return (await readMountId(place)) === own;
    } finally {
      await place.close();
    }
  });
  return !(await Promise.all(found)).includes(false);
}

/** Reads the id of the mount on which an open file lies. */
export async function readMountId(file: FileHandle): Promise<string | undefined> {
  return /^mnt_id:\s*(\d+)$/m.exec(await readFile(`/proc/self/fdinfo/${file.fd}`, "utf8"))?.[1];
}
