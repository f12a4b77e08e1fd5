import { opendirSync, type Dirent } from "node:fs";

/** Reads at most this many entries of a folder, in the order of the file system. */
export function readEntries(path: string, most: number): readonly Dirent[] {
  const folder = opendirSync(path);
  try {
    const entries: Dirent[] = [];
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
      entries.push(entry);
      if (entries.length === most) break;
    }
    return entries;
  } finally {
    folder.closeSync();
  }
}
