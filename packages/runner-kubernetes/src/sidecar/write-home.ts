import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { chmod, open, rename, symlink, unlink, writeFile, type FileHandle } from "node:fs/promises";
import { posix } from "node:path";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { BudgieError } from "@budgie/core";
import type { FoundEntry } from "@budgie/core/copies";
import { takeStart } from "@budgie/sandbox/home";
import { descriptorPath } from "@budgie/sandbox/mounts";
import { fromRecords } from "@budgie/sandbox/records";
import { checkPath, findKind, openIn, type EntryKind, type OpenParent } from "./open-in.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const O_PATH = 0o10000000;

/**
 * Writes records below a home in which an agent may have made anything. Files and links replace what stands in their place, and are never written through.
 * Rejects with `SESSION_UNUSABLE` if a folder on the way is something else, or a folder is in the place of a file.
 */
export async function writeHome(home: string, records: Readable): Promise<void> {
  await using parents = createParents(home);
  for await (const found of fromRecords(records as AsyncIterable<Buffer>)) {
    const { entry } = found;
    if (entry.kind === "folder") await writeFolder(home, entry);
    else await replace(await parents.open(entry.path), found);
  }
}

/** Opens the folders of paths one after the other, and the same one once. */
function createParents(home: string) {
  let last: (OpenParent & { readonly name: string }) | undefined;
  return {
    async open(path: string): Promise<FileHandle> {
      const name = posix.dirname(checkPath(path));
      if (last?.name !== name) {
        await last?.[Symbol.asyncDispose]();
        last = undefined;
        last = { ...(await openIn(home, path, "makeMissing")), name };
      }
      return last.folder;
    },
    [Symbol.asyncDispose]: async () => last?.[Symbol.asyncDispose](),
  };
}

async function writeFolder(home: string, { mode, path }: { readonly mode: number; readonly path: string }) {
  await using inside = await openIn(home, `${path}/x`, "makeMissing");
  await chmod(descriptorPath(inside.folder), mode);
}

/** Makes a file or a link beside its place, and moves it there, so that no second name of an old file is written to. */
async function replace(folder: FileHandle, { content, entry }: FoundEntry): Promise<void> {
  const beside = `${descriptorPath(folder)}/.budgie-${randomUUID()}`;
  try {
    if (entry.kind === "link") await symlink(entry.target, beside);
    else if (entry.kind === "file") await writeNew(beside, entry.mode, content);
    else throw new BudgieError("INPUT_INVALID", "Only files, links and folders can be written into a home.");
    await rename(beside, `${descriptorPath(folder)}/${posix.basename(entry.path)}`);
  } catch (error) {
    await unlink(beside).catch(() => undefined);
    if ((error as NodeJS.ErrnoException).code !== "EISDIR") throw error;
    throw inPlaceError(entry.path);
  }
}

async function writeNew(path: string, mode: number, content: FoundEntry["content"]): Promise<void> {
  await using file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  await file.chmod(mode);
  if (content !== undefined) await writeFile(file, content);
}

/** The start of a file to read. */
export type HomeReading = { readonly path: string; readonly mostBytes: number };

/** Sends the first bytes of a regular file of a home. Resolves to the kind of anything else; `beyond` if a folder on the way is none. */
export async function readHome(
  home: string,
  { mostBytes, path }: HomeReading,
  output: Writable,
): Promise<EntryKind | "beyond" | undefined> {
  try {
    await using parent = await openIn(home, path, "onlyExisting");
    await using place = await open(parent.path, O_PATH | O_NOFOLLOW);
    if (!(await place.stat()).isFile()) return await findKind(parent.path);
    // The same file, whatever has its name by now.
    await using file = await open(descriptorPath(place), O_RDONLY | O_NONBLOCK);
    if (mostBytes > 0) await pipeline(takeStart(file.createReadStream(), mostBytes), output, { end: false });
    return undefined;
  } catch (error) {
    if (error instanceof BudgieError && error.code === "SESSION_UNUSABLE") return "beyond";
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    // A file that its owner has closed to itself is none that an agent program left.
    if (code === "EACCES") return "other";
    throw error;
  }
}

function inPlaceError(path: string): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `The agent made a folder at ${JSON.stringify(path.slice(0, 300))}, where budgie keeps a file. Begin a new session.`,
  );
}
