import { createHash } from "node:crypto";
import { parseCountedJson } from "../bounds/parse-bounded-json.ts";
import { constants } from "node:fs";
import { lstat, open, readlink } from "node:fs/promises";
import type { Stats } from "node:fs";
import type { ChangeKind } from "../changed-files.ts";

/** The state of a path. A difference between two means that the path changed in between. */
export type Fingerprint = {
  /** Kind and mode, and a symlink's target */
  readonly what: string;
  /** Hash of a file's content; `undefined` if the content was not read */
  readonly hash: string | undefined;
  /** Size and times of a file */
  readonly state: string;
  readonly ctimeMs: number;
  /** Size of a file in bytes */
  readonly size?: number;
};

/** The bytes and files that may still be read, and the values of JSON that may still be parsed. */
export type ReadBudget = { bytes: number; files: number; values: number };

/** Returns a text for a file's content; `undefined` if the budget does not suffice. */
export type ToText = (content: Buffer, budget: ReadBudget) => string | undefined;

const LARGEST_FILE_BYTES = 1024 * 1024;

/** Reads the fingerprint of a path without following symlinks; `undefined` if nothing is there. */
export async function readFingerprint(
  path: Buffer,
  budget: ReadBudget,
  toText: ToText = hashContent,
): Promise<Fingerprint | undefined> {
  try {
    const found = await lstat(path);
    const { ctimeMs } = found;
    if (found.isSymbolicLink()) {
      return { what: `link ${hashContent(await readlink(path, "buffer"))}`, hash: undefined, state: "", ctimeMs };
    }
    const what = `${found.mode & constants.S_IFMT} ${(found.mode & 0o7777).toString(8)}`;
    if (!found.isFile()) return { what, hash: undefined, state: "", ctimeMs };
    const hash = await hashFile(path, found, { budget, toText });
    return { what, hash, state: `${found.size} ${found.mtimeMs} ${ctimeMs}`, ctimeMs, size: found.size };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isGone = code === "ENOENT" || code === "ENOTDIR";
    return isGone ? undefined : { what: `unreadable ${code}`, hash: undefined, state: "", ctimeMs: Infinity };
  }
}

/** Returns true if two fingerprints show the same state. Size and times decide unless the content was read for both. */
export function isSameFingerprint(one: Fingerprint | undefined, other: Fingerprint | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  if (one.what !== other.what) return false;
  const isRead = one.hash !== undefined && other.hash !== undefined;
  return isRead ? one.hash === other.hash : one.state === other.state;
}

/** Finds the kind of the change between two fingerprints that differ. */
export function findChangeKind(before: Fingerprint | undefined, after: Fingerprint | undefined): ChangeKind {
  if (after === undefined) return "removed";
  if (after.what.startsWith("link ")) return "link";
  if (before === undefined) return "created";
  return before.hash !== undefined && before.hash === after.hash ? "mode" : "changed";
}

/** Reads a plain file of at most 1 MiB; `undefined` if it is another kind of file, or larger. */
async function readPlainFile(path: string | Buffer): Promise<Buffer | undefined> {
  // A symlink or a pipe that replaced the file meanwhile must neither be followed nor block.
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

/**
 * Hashes the scripts of a `package.json`, or all of it if it is not JSON or has too many values. Returns `undefined` if the budget has no
 * values left.
 */
export function hashScripts(content: Buffer, budget: Pick<ReadBudget, "values">): string | undefined {
  if (budget.values <= 0) return undefined;
  try {
    const { value, values } = parseCountedJson(content, PACKAGE_BOUNDS);
    budget.values -= values;
    const { scripts } = value as { readonly scripts?: unknown };
    return `scripts ${hashContent(Buffer.from(JSON.stringify(scripts) ?? ""))}`;
  } catch {
    budget.values -= PACKAGE_BOUNDS.values;
    return hashContent(content);
  }
}

// Some ten times as many as large packages have
const PACKAGE_BOUNDS = { values: 5000, depth: 100 };

/** Hashes content to a short text. */
export function hashContent(content: Buffer): string {
  return createHash("sha256").update(content).digest("base64").slice(0, 24);
}

type Reading = { readonly budget: ReadBudget; readonly toText: ToText };

async function hashFile(path: Buffer, { size }: Stats, { budget, toText }: Reading): Promise<string | undefined> {
  if (size > LARGEST_FILE_BYTES || size > budget.bytes || budget.files <= 0) return undefined;
  budget.bytes -= size;
  budget.files -= 1;
  // If it became unreadable or was removed meanwhile, size and times decide.
  const content = await readPlainFile(path).catch(() => undefined);
  return content && toText(content, budget);
}
