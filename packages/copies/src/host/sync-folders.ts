import { pathIn, type FolderHandle } from "@budgie/core/walk";
import type { HostFolder } from "./host-folder.ts";
import { syncAll, syncEntry } from "./sync-all.ts";

/** Writes the entries of a folder, and of those that paths of the directory are in, to the disk. Folders that are gone are left out. */
export async function syncFolders(host: HostFolder, folder: FolderHandle, paths: readonly string[]): Promise<void> {
  const parents = new Map(paths.map((path) => [path.slice(0, Math.max(path.lastIndexOf("/"), 0)), path]));
  await syncEntry(pathIn(folder, SELF));
  await syncAll(folder, [...parents.values()], (path) =>
    host.at(path, (place) => syncEntry(pathIn(place.folder, SELF))).catch(ignoreGone),
  );
}

const SELF = Buffer.from(".");

function ignoreGone(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
}
