import { chmod, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/** Removes a folder and its contents, read-only folders included, without following symlinks. */
export async function removeTree(path: string): Promise<void> {
  // Retries, since a dying process may still write to the tree.
  const options = { recursive: true, force: true, maxRetries: 3, retryDelay: 50 };
  try {
    await rm(path, options);
  } catch (error) {
    if (!["EACCES", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    await unlock(path);
    await rm(path, options);
  }
}

async function unlock(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await unlock(join(folder, entry.name));
  }
}
