import { opendir, rename, rmdir, unlink, type FileHandle } from "node:fs/promises";
import { BudgieError } from "@budgie/core";
import { descriptorPath } from "@budgie/sandbox/mounts";
import { giveRights, openFolder } from "./open-in.ts";

const LIMIT_MS = 600_000;

/**
 * Removes all below a folder in which no process works. A folder that is not empty is moved to the top, so that no depth and no length of a path matter,
 * which an agent decides. Rejects with `SESSION_UNUSABLE` after 10 minutes.
 */
export async function emptyFolder(path: string): Promise<void> {
  await using root = await openFolder(path);
  await giveRights(root);
  const moving = { root, count: 0, until: performance.now() + LIMIT_MS };
  while (!(await clear(root, moving)));
}

type Moving = { readonly root: FileHandle; count: number; readonly until: number };

/** Removes the entries of a folder, and clears its folders. Resolves to true if it was empty. */
async function clear(folder: FileHandle, moving: Moving): Promise<boolean> {
  let isEmpty = true;
  for await (const name of listNames(folder)) {
    if (performance.now() > moving.until) throw tooMuchError();
    isEmpty = false;
    const path = Buffer.concat([Buffer.from(`${descriptorPath(folder)}/`), name]);
    if (await isRemoved(path)) continue;
    await using child = await openFolder(path);
    await giveRights(child);
    if (folder === moving.root) {
      while (!(await clear(child, moving)));
      await rmdir(path);
    } else await moveUp(path, moving);
  }
  return isEmpty;
}

async function isRemoved(path: Buffer): Promise<boolean> {
  for (const remove of [unlink, rmdir]) {
    try {
      await remove(path);
      return true;
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      if (!["EISDIR", "EPERM", "ENOTEMPTY", "EEXIST", "EACCES"].includes(code)) throw error;
    }
  }
  return false;
}

/** Moves a folder to the top, under a name that an agent may have taken. */
async function moveUp(path: Buffer, moving: Moving): Promise<void> {
  for (;;) {
    try {
      return await rename(path, `${descriptorPath(moving.root)}/.budgie-${moving.count++}`);
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      if (!["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(code) || performance.now() > moving.until) throw error;
    }
  }
}

async function* listNames(folder: FileHandle): AsyncGenerator<Buffer> {
  // A name need not be text.
  const entries = await opendir(descriptorPath(folder), { encoding: "buffer" as BufferEncoding });
  for await (const { name } of entries) yield Buffer.from(name as string | Buffer as string);
}

function tooMuchError(): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    "A folder of the Pod holds more than can be removed in time. Begin a new session.",
  );
}
