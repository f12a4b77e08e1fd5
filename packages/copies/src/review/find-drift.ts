import type { Stats } from "node:fs";
import { readlink } from "node:fs/promises";
import { setImmediate as letOthersWork } from "node:timers/promises";
import type { Manifest, TreeEntry } from "@budgie/core/copies";
import { hasGitName } from "@budgie/core/guard";
import { pathIn, type FolderHandle } from "@budgie/core/walk";
import type { Base } from "../copying/base-files.ts";
import type { FileCalls } from "../host/file-calls.ts";
import { groupByFolder } from "../host/for-each-by-folder.ts";
import type { HostFolder } from "../host/host-folder.ts";
import { readHostEntry } from "../host/read-host-entry.ts";

/** The paths of a directory that changed since a copy of it was made. New ones are not looked for. */
export type Drift = {
  readonly paths: readonly string[];
  /** False if time or bytes were over before all were compared */
  readonly isWhole: boolean;
};

/** The limits of a comparison: a result waits for it. */
export type DriftBounds = {
  /** The time of the comparison alone, without pauses */
  readonly timeMs: number;
  readonly bytes: number;
};

export type FindingDrift = Partial<DriftBounds> & {
  /** Awaited before each batch of files; default: lets other work have its turn */
  readonly pause?: () => Promise<unknown>;
};

/**
 * Compares a directory with a base by what lstat says of each file. A file of the same size is read if it was touched since, as far as the
 * bytes allow.
 */
export async function findDrift(
  host: HostFolder,
  { manifest, startedMs = 0 }: Pick<Base, "manifest" | "startedMs">,
  { bytes = 64 * 1024 * 1024, pause = letOthersWork, timeMs = 2000 }: FindingDrift = {},
): Promise<Drift> {
  const paths: string[] = [];
  const left = { bytes };
  let leftMs = timeMs;
  let isWhole = true;
  for (const [folder, entries] of findFolders(manifest)) {
    const batches = toBatches(entries);
    for (const batch of batches) {
      if (leftMs <= 0) return { paths, isWhole: false };
      await pause();
      const began = performance.now();
      const found = await host
        .at(`${folder}.`, (place) => compareAll(place.folder, batch, { calls: host.calls, startedMs, left }))
        // A folder that is missing, or a symlink now, has none of them.
        .catch(() => batch.map(({ path }) => ({ path, isKnown: true })));
      leftMs -= performance.now() - began;
      paths.push(...found.flatMap(({ isKnown, path }) => (isKnown ? [path] : [])));
      isWhole &&= found.every(({ isKnown }) => isKnown);
    }
  }
  return { paths, isWhole };
}

type Folders = ReadonlyMap<string, readonly TreeEntry[]>;

// A turn and its reviews compare with the same base.
const grouped = new WeakMap<Manifest, Folders>();

/** Groups entries by the path of their folder, which ends in a slash unless it is empty. Git's own are left out, as in change sets. */
function findFolders(manifest: Manifest): Folders {
  const known = grouped.get(manifest);
  if (known !== undefined) return known;
  const folders = groupByFolder(manifest.entries.filter(({ path }) => !hasGitName(path)));
  grouped.set(manifest, folders);
  return folders;
}

const BATCH = 500;

function toBatches(entries: readonly TreeEntry[]): readonly (readonly TreeEntry[])[] {
  const count = Math.ceil(entries.length / BATCH);
  return Array.from({ length: count }, (_, index) => entries.slice(index * BATCH, (index + 1) * BATCH));
}

type Comparing = { readonly calls: FileCalls; readonly startedMs: number; readonly left: { bytes: number } };
type Drifted = { readonly path: string; /** False if the file was not read */ readonly isKnown: boolean };

async function compareAll(
  folder: FolderHandle,
  entries: readonly TreeEntry[],
  comparing: Comparing,
): Promise<readonly Drifted[]> {
  const drifted: Drifted[] = [];
  const names = entries.map(({ path }) => path.slice(path.lastIndexOf("/") + 1));
  const looked = await comparing.calls.lstatAll(folder, names);
  for (const [index, entry] of entries.entries()) {
    const found = looked[index];
    if (typeof found === "object" && isOld(entry, found, comparing.startedMs)) continue;
    const drift = await compare(folder, { entry, found }, comparing).catch(toDrift);
    if (drift !== "same") drifted.push({ path: entry.path, isKnown: drift === "changed" });
  }
  return drifted;
}

/** Returns true for a file that was not touched since the copy was made. */
function isOld(entry: TreeEntry, found: Stats, startedMs: number): boolean {
  return entry.kind === "file" && hasFacts(entry, found) && found.ctimeMs < startedMs - CLOCK_MS;
}

function toDrift({ code }: NodeJS.ErrnoException): "changed" | "unknown" {
  return code === "ENOENT" ? "changed" : "unknown";
}

type Looked = { readonly entry: TreeEntry; readonly found: Stats | string | undefined };

async function compare(
  folder: FolderHandle,
  { entry, found }: Looked,
  { calls, left }: Comparing,
): Promise<"changed" | "same" | "unknown"> {
  if (typeof found !== "object") return found === "ENOENT" ? "changed" : "unknown";
  if (!hasFacts(entry, found)) return "changed";
  const path = pathIn(folder, Buffer.from(entry.path.slice(entry.path.lastIndexOf("/") + 1)));
  if (entry.kind === "link") return (await readlink(path, "utf8")) === entry.target ? "same" : "changed";
  if (entry.kind === "folder") return "same";
  left.bytes -= entry.size;
  if (left.bytes < 0) return "unknown";
  return (await hasContent(entry.digest, path, calls)) ? "same" : "changed";
}

// The kernel's times of files are a little older than the clock.
const CLOCK_MS = 1000;

function hasFacts(entry: TreeEntry, found: Stats): boolean {
  if (entry.kind === "folder") return found.isDirectory();
  if (entry.kind === "link") return found.isSymbolicLink();
  const isExecutable = (found.mode & 0o111) !== 0;
  return found.isFile() && found.size === entry.size && isExecutable === ((entry.mode & 0o111) !== 0);
}

async function hasContent(digest: string, path: Buffer, calls: FileCalls): Promise<boolean> {
  const found = await readHostEntry(path, () => true, calls);
  return found.kind === "file" && found.digest === digest;
}
