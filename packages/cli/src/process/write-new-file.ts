import { open, rm, type FileHandle } from "node:fs/promises";
import { BudgieError } from "@budgie/core";

/**
 * Creates a file that only its user reads, for `write`, and removes it if that fails. Throws `CONFIG_INVALID` if there is one already, or the disk
 * has no room.
 */
export async function writeNewFile<T>(path: string, write: (opened: FileHandle) => Promise<T>): Promise<T> {
  const opened = await open(path, "wx+", 0o600).catch((error: unknown) => {
    throw translateError(error, path);
  });
  try {
    return await write(opened);
  } catch (error) {
    await rm(path, { force: true });
    throw translateError(error, path);
  } finally {
    // No stream closes it if nothing was written.
    await opened.close();
  }
}

function translateError(error: unknown, file: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof BudgieError || code === undefined || code === "ABORT_ERR") return error;
  const remedy = code === "EEXIST" ? "Name one that does not exist yet." : "Name another, or make room there.";
  return new BudgieError("CONFIG_INVALID", `Cannot write "${file}" (${code}). ${remedy}`, { cause: error });
}
