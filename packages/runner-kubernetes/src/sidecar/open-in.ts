import { constants } from "node:fs";
import { chmod, lstat, mkdir, open, type FileHandle } from "node:fs/promises";
import { BudgieError, isHomePath } from "@budgie/core";
import { descriptorPath } from "@budgie/sandbox/mounts";

// Node has no constant for O_PATH, which needs no right to read.
const O_PATH = 0o10000000;
const FOLDER = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const OWN_RIGHTS = 0o700;

/** The folder of a path, held open, and the path of the last name in it. */
export type OpenParent = AsyncDisposable & { readonly folder: FileHandle; readonly path: string };

/** The kind of an entry; `null` for a missing one. */
export type EntryKind = "folder" | "file" | "link" | "other" | null;

/** Opens the folder at a path, unless it is a symlink or anything else. */
export function openFolder(path: string | Buffer): Promise<FileHandle> {
  return open(path as string, FOLDER);
}

/**
 * Opens the folder of a path below a root, and follows no symlink. With `makeMissing`, folders that are missing are made, and those
 * that their user had closed are opened. Throws `SESSION_UNUSABLE` if a folder on the way is something else.
 */
export async function openIn(root: string, path: string, make: "makeMissing" | "onlyExisting"): Promise<OpenParent> {
  const names = checkPath(path).split("/");
  let folder = await openFolder(root);
  try {
    for (const [index, name] of names.slice(0, -1).entries()) {
      const next = await openChild(folder, name, make).catch((error: NodeJS.ErrnoException) => {
        throw error.code === "ENOTDIR" || error.code === "ELOOP" ? replacedError(names.slice(0, index + 1)) : error;
      });
      await folder.close();
      folder = next;
    }
  } catch (error) {
    await folder.close();
    throw error;
  }
  const last = `${descriptorPath(folder)}/${names.at(-1)}`;
  return { folder, path: last, [Symbol.asyncDispose]: () => folder.close() };
}

async function openChild(folder: FileHandle, name: string, make: "makeMissing" | "onlyExisting"): Promise<FileHandle> {
  const path = `${descriptorPath(folder)}/${name}`;
  if (make === "onlyExisting") return openFolder(path);
  await mkdir(path, { mode: OWN_RIGHTS }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  const child = await openFolder(path);
  try {
    await giveRights(child);
  } catch (error) {
    await child.close();
    throw error;
  }
  return child;
}

/** Gives a folder's own user all rights, which an agent may have taken away. Resolves to the mode that it had. */
export async function giveRights(folder: FileHandle): Promise<number> {
  const mode = (await folder.stat()).mode & 0o7777;
  if ((mode & OWN_RIGHTS) !== OWN_RIGHTS) await chmod(descriptorPath(folder), mode | OWN_RIGHTS);
  return mode;
}

/** Finds the kind of an entry, without following it. */
export async function findKind(path: string | Buffer): Promise<EntryKind> {
  try {
    const facts = await lstat(path);
    if (facts.isDirectory()) return "folder";
    if (facts.isFile()) return "file";
    return facts.isSymbolicLink() ? "link" : "other";
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** Finds the kinds of paths below a root. One below anything but a folder is `other`, as the copier has it. */
export async function findKinds(root: string, paths: readonly string[]): Promise<readonly EntryKind[]> {
  const kinds: EntryKind[] = [];
  for (const path of paths) {
    try {
      await using parent = await openIn(root, path, "onlyExisting");
      kinds.push(await findKind(parent.path));
    } catch (error) {
      if (error instanceof BudgieError && error.code === "INPUT_INVALID") throw error;
      kinds.push((error as NodeJS.ErrnoException).code === "ENOENT" ? null : "other");
    }
  }
  return kinds;
}

/** Returns a path below a folder. Throws `INPUT_INVALID` for any other. */
export function checkPath(path: string): string {
  if (isHomePath(path)) return path;
  throw new BudgieError("INPUT_INVALID", `${JSON.stringify(path.slice(0, 300))} is no path below a folder of the Pod.`);
}

function replacedError(names: readonly string[]): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `The agent replaced ${JSON.stringify(names.join("/").slice(0, 300))} by something else, and budgie lets nothing go through it. Begin a new session.`,
  );
}
