import { constants } from "node:fs";
import { open } from "node:fs/promises";

/** The flags to open a file that an agent may have replaced: neither a symlink is followed nor a pipe waited for. */
export const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Reads a regular file; `undefined` if there is none, and "too-large" if it has more than `most` bytes. */
export async function readSmallFile(path: string | Buffer, most: number): Promise<Buffer | "too-large" | undefined> {
  const file = await open(path, READ_FLAGS).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const stats = await file.stat();
    if (!stats.isFile()) return undefined;
    if (stats.size > most) return "too-large";
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(stats.size) });
    return buffer.subarray(0, bytesRead);
  } catch {
    return undefined;
  } finally {
    await file.close();
  }
}
