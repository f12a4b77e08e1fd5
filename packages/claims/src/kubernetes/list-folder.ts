import { lstat, readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import type { FilledEntry } from "@budgie/core/copies";

/** Lists what a copy gets of a folder: all but files of other users, which a copy could not keep from its agent. */
export async function* listFolder(folder: string): AsyncGenerator<FilledEntry> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = found.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  for (const path of paths.toSorted()) {
    const at = join(folder, path);
    const stats = await lstat(at);
    const { mode, size } = stats;
    const bits = mode & 0o777;
    if (stats.isSymbolicLink()) yield { entry: { path, kind: "link", target: await readlink(at) } };
    else if (stats.isDirectory()) yield { entry: { path, kind: "folder", mode: bits } };
    else if (stats.uid === process.getuid?.())
      yield { entry: { path, kind: "file", mode: bits, size }, content: await readFile(at) };
  }
}
