import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { BudgieError } from "@budgie/core";

const MAX_READ_BYTES = 4 * 1024 * 1024;

// An agent can plant anything in its home: a symlink is rejected, and a FIFO must not block.
const SAFE = constants.O_NOFOLLOW | constants.O_NONBLOCK;
const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT;

/** Reads at most 4 MiB of a regular file in a home; `undefined` if it is missing, a symlink, or not readable. */
export async function readHomeFile(home: string, name: string): Promise<string | undefined> {
  const file = await openFile(toPath(home, name), constants.O_RDONLY);
  if (file === undefined) return undefined;
  try {
    if (!(await file.stat()).isFile()) return undefined;
    return (await readUpTo(file, MAX_READ_BYTES)).toString("utf8");
  } finally {
    await file.close();
  }
}

/** Appends to a regular file in a home, or creates it. Anything else of that name is `SESSION_UNUSABLE`. */
export async function appendHomeFile(home: string, name: string, text: string): Promise<void> {
  const path = toPath(home, name);
  const file = await openFile(path, APPEND);
  try {
    if (file === undefined || !(await file.stat()).isFile()) {
      throw new BudgieError(
        "SESSION_UNUSABLE",
        `Cannot write "${path}": the agent put something other than a plain file there, or removed its home. ` +
          `Begin a new session.`,
      );
    }
    await file.appendFile(text);
  } finally {
    await file?.close();
  }
}

function toPath(home: string, name: string): string {
  if (/^\.{0,2}$|[/\0]/.test(name)) {
    throw new BudgieError("SESSION_UNUSABLE", `${JSON.stringify(name)} is not the name of a file in a session's home.`);
  }
  return join(home, name);
}

const NOT_REGULAR = new Set(["ENOENT", "ELOOP", "ENXIO", "EISDIR", "ENOTDIR", "EACCES"]);

async function openFile(path: string, flags: number): Promise<FileHandle | undefined> {
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
