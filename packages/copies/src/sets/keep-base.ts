import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { forEachOf } from "@budgie/core/walk";
import { readHostEntry, readPieces } from "../host/read-host-entry.ts";
import type { HostFolder } from "../host/host-folder.ts";
import type { ObjectStore } from "../objects/object-store.ts";
import type { Change, Side } from "./change-set.ts";
import { isSide } from "./is-side.ts";

type Keeping = { readonly host: HostFolder; readonly objects: ObjectStore; readonly mostBytes: number };

/**
 * Stores the base's content of changed files, from the host's files where these are still the same. Notes the changes whose path changed
 * on the host meanwhile.
 */
export async function keepBase(
  changes: readonly Change[],
  { host, mostBytes, objects }: Keeping,
): Promise<{ readonly changes: readonly Change[]; readonly bytes: number }> {
  const room = chooseKept(changes, mostBytes);
  const done = [...changes];
  await forEachOf(changes.entries(), AT_ONCE, async ([index, change]) => {
    const isSame = isUnwritable(change) || (await hasSide(host, change));
    const isKept = room.has(change.path) && !isUnwritable(change);
    const before = isKept ? await keepSide(change, { host, objects, isSame }) : undefined;
    const notes = isSame ? [] : ["it changed in the directory since the copy was made"];
    done[index] = {
      ...change,
      ...(before === undefined ? {} : { before }),
      ...(notes.length === 0 ? {} : { notes: [...(change.notes ?? []), ...notes] }),
    };
  });
  return { changes: done, bytes: done.reduce((sum, { before }) => sum + countKept(before), 0) };
}

const AT_ONCE = 16;

/** Chooses the paths whose base is kept: as many as the bytes allow, in their order. */
function chooseKept(changes: readonly Change[], mostBytes: number): ReadonlySet<string> {
  let left = mostBytes;
  const chosen = changes.filter(({ before }) => {
    if (before?.kind !== "file" || before.size > left) return false;
    left -= before.size;
    return true;
  });
  return new Set(chosen.map(({ path }) => path));
}

function countKept(side: Side | undefined): number {
  return side?.kind === "file" && side.kept ? side.size : 0;
}

/** Returns true for a path that is not one of the host's. */
function isUnwritable({ before, refused }: Change): boolean {
  return before === undefined && refused !== undefined;
}

/** Stores the base of a change if it is a file; `undefined` if it could not be stored. */
async function keepSide(
  { before, path }: Change,
  { isSame, ...keeping }: Stores & { readonly isSame: boolean },
): Promise<FileSide | undefined> {
  if (before?.kind !== "file" || before.digest === undefined) return undefined;
  // The host's file may be another one since, and the base the content of an earlier set.
  const isKept = isSame
    ? await keepFile(path, before.digest, keeping)
    : (await keeping.objects.read(before.digest)) !== undefined;
  return isKept ? { ...before, kept: true } : undefined;
}

type FileSide = Extract<Side, { kind: "file" }>;

/** Returns true if the host's entry is the base's. */
async function hasSide(host: HostFolder, { before, path }: Change): Promise<boolean> {
  const size = before?.kind === "file" ? before.size : undefined;
  const read = host.at(path, (place) => readHostEntry(place.path, (bytes) => bytes === size));
  return read.then(
    (entry) => isSide(before, entry),
    // A missing folder on the way, and so no entry.
    (error: NodeJS.ErrnoException) => error.code === "ENOENT" && before === undefined,
  );
}

type Stores = Pick<Keeping, "host" | "objects">;

/** Stores a file of the host if it has this digest. */
async function keepFile(path: string, digest: string, { host, objects }: Stores): Promise<boolean> {
  try {
    return await host.at(path, (place) => storeFile(place.path, digest, objects));
  } catch {
    return false;
  }
}

/** Stores a file if it has this digest, and is no symlink or pipe. */
export async function storeFile(path: Buffer, digest: string | undefined, objects: ObjectStore): Promise<boolean> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const staged = await objects.stage(readPieces(file));
    const isSame = staged !== undefined && staged.digest === digest;
    await (isSame ? staged.keep() : staged?.discard());
    return isSame;
  } finally {
    await file.close();
  }
}
