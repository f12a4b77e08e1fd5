import { constants } from "node:fs";
import { mkdir, open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { BudgieError, isHomePath } from "@budgie/core";

const MAX_READ_BYTES = 4 * 1024 * 1024;

// An agent can plant anything in its home: a symlink is rejected, and a FIFO must not block.
const SAFE = constants.O_NOFOLLOW | constants.O_NONBLOCK;
const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT;

/** Reads at most 4 MiB of a regular file in a home; `undefined` if it is missing, a symlink or below one, or not readable. */
export async function readHomeFile(home: string, path: string): Promise<string | undefined> {
  const file = await openFile(home, splitPath(path), constants.O_RDONLY);
  if (file === undefined) return undefined;
  try {
    if (!(await file.stat()).isFile()) return undefined;
    return (await readUpTo(file, MAX_READ_BYTES)).toString("utf8");
  } finally {
    await file.close();
  }
}

/** Appends to a regular file in a home, or creates it and its folders. Anything else at that path is `SESSION_UNUSABLE`. */
export async function appendHomeFile(home: string, path: string, text: string): Promise<void> {
  const file = await openFile(home, splitPath(path), APPEND);
  try {
    if (file === undefined || !(await file.stat()).isFile()) {
      throw new BudgieError(
        "SESSION_UNUSABLE",
        `Cannot write "${join(home, path)}": the agent put something other than a plain file there, or removed its home. ` +
          `Begin a new session.`,
      );
    }
    await file.appendFile(text);
  } finally {
    await file?.close();
  }
}

function splitPath(path: string): readonly string[] {
  if (isHomePath(path)) return path.split("/");
  throw new BudgieError("SESSION_UNUSABLE", `${JSON.stringify(path)} is not the path of a file in a session's home.`);
}

const NOT_REGULAR = new Set(["ENOENT", "ELOOP", "ENXIO", "EISDIR", "ENOTDIR", "EACCES"]);

/** Opens a file through its open parent folders, and creates missing ones if `flags` allow creating the file. */
async function openFile(
  folder: string,
  [name = "", ...rest]: readonly string[],
  flags: number,
): Promise<FileHandle | undefined> {
  const path = join(folder, name);
  if (rest.length === 0) return openSafely(path, flags);
  if ((flags & constants.O_CREAT) !== 0) await makeFolder(path);
  const child = await openSafely(path, constants.O_RDONLY | constants.O_DIRECTORY);
  if (child === undefined) return undefined;
  try {
    // Other systems offer only the path.
    return await openFile(process.platform === "linux" ? `/proc/self/fd/${child.fd}` : path, rest, flags);
  } finally {
    await child.close();
  }
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST" && !NOT_REGULAR.has(error.code ?? "")) throw error;
  });
}

async function openSafely(path: string, flags: number): Promise<FileHandle | undefined> {
  try {
    return await open(path, flags | SAFE, 0o600);
  } catch (error) {
    if (NOT_REGULAR.has((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

async function readUpTo(file: FileHandle, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  while (total < maxBytes) {
    const { bytesRead, buffer } = await file.read({ buffer: Buffer.alloc(Math.min(65_536, maxBytes - total)) });
    if (bytesRead === 0) break;
    chunks.push(buffer.subarray(0, bytesRead));
    total += bytesRead;
  }
  return Buffer.concat(chunks);
}
