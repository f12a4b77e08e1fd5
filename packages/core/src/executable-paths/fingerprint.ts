import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, readlink } from "node:fs/promises";
import type { Stats } from "node:fs";

/** How many more bytes may be read. */
export type ByteBudget = { left: number };

const LARGEST_FILE_BYTES = 1024 * 1024;

/**
 * What a path is, as a text that changes with it: kind, mode, and content or target. No link is followed. A file that is too
 * large to read counts as changed when its times or its size do. `undefined` if there is nothing.
 */
export async function toFingerprint(
  path: Buffer,
  budget: ByteBudget,
  toText: (content: Buffer) => string = toHash,
): Promise<string | undefined> {
  try {
    const found = await lstat(path);
    if (found.isSymbolicLink()) return `link ${toHash(await readlink(path, "buffer"))}`;
    const kind = `${found.mode & constants.S_IFMT} ${(found.mode & 0o7777).toString(8)}`;
    return found.isFile() ? `${kind} ${await toContentText(path, found, { budget, toText })}` : kind;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? undefined : `unreadable ${code}`;
  }
}

/** The content of a plain file, at most 1 MiB of it. */
export async function readPlainFile(path: string | Buffer): Promise<Buffer | undefined> {
  // Whatever was put in its place meanwhile must neither lead elsewhere nor block.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    if (!found.isFile() || found.size > LARGEST_FILE_BYTES) return undefined;
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(found.size + 1) });
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Of a `package.json` only the scripts count; one that is not JSON counts whole. */
export function toScriptsText(content: Buffer): string {
  try {
    const { scripts } = JSON.parse(content.toString("utf8")) as { readonly scripts?: unknown };
    return `scripts ${toHash(Buffer.from(JSON.stringify(scripts) ?? ""))}`;
  } catch {
    return toHash(content);
  }
}

/** A short text for some content. */
export function toHash(content: Buffer): string {
  return createHash("sha256").update(content).digest("base64").slice(0, 24);
}

type Reading = { readonly budget: ByteBudget; readonly toText: (content: Buffer) => string };

async function toContentText(path: Buffer, found: Stats, { budget, toText }: Reading): Promise<string> {
  const { ctimeMs, mtimeMs, size } = found;
  if (size <= LARGEST_FILE_BYTES && size <= budget.left) {
    budget.left -= size;
    const content = await readPlainFile(path);
    if (content !== undefined) return toText(content);
  }
  return `${size} ${mtimeMs} ${ctimeMs}`;
}
