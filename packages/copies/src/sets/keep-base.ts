import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { readHostEntry } from "../host/read-host-entry.ts";
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
  const done: Change[] = [];
  let bytes = 0;
  for (const change of changes) {
    const isSame = isUnwritable(change) || (await hasSide(host, change));
    const kept = isSame ? await keepSide(change, { host, objects, mostBytes: mostBytes - bytes }) : undefined;
    if (kept !== undefined) bytes += kept.size;
    const notes = isSame ? [] : ["it changed in the directory since the copy was made"];
    done.push({
      ...change,
      ...(kept === undefined ? {} : { before: kept }),
      ...(notes.length === 0 ? {} : { notes: [...(change.notes ?? []), ...notes] }),
    });
  }
  return { changes: done, bytes };
}

/** Returns true for a path that is not one of the host's. */
function isUnwritable({ before, refused }: Change): boolean {
  return before === undefined && refused !== undefined;
}

/** Stores the base of a change if it is a file; `undefined` if it could not be stored. */
async function keepSide({ before, path }: Change, keeping: Keeping): Promise<FileSide | undefined> {
  if (before?.kind !== "file" || before.digest === undefined || before.size > keeping.mostBytes) return undefined;
  return (await keepFile(path, before.digest, keeping)) ? { ...before, kept: true } : undefined;
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
    return await host.at(path, async (place) => {
      const file = await open(place.path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      try {
        const staged = await objects.stage(file.createReadStream({ autoClose: false }));
        if (staged?.digest === digest) await staged.keep();
        else await staged?.discard();
        return staged?.digest === digest;
      } finally {
        await file.close();
      }
    });
  } catch {
    return false;
  }
}
