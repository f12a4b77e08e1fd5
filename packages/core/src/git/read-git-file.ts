import { constants } from "node:fs";
import { open } from "node:fs/promises";

/** The most of a file of git's that is read. */
export const MOST_BYTES = 64 * 1024;

/** Reads the first 64 KiB of a plain file; empty for anything else. Neither follows a symlink nor waits for a pipe. */
export async function readGitFile(path: string | Buffer): Promise<string> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch(() => undefined);
  if (file === undefined) return "";
  try {
    if (!(await file.stat()).isFile()) return "";
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(MOST_BYTES) });
    return buffer.toString("utf8", 0, bytesRead);
  } catch {
    return "";
  } finally {
    await file.close();
  }
}
