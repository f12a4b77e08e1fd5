import type { BigIntStats } from "node:fs";
import { readlink } from "node:fs/promises";
import { setImmediate as letOthersWork } from "node:timers/promises";
import type { TreeEntry } from "@budgie/core/copies";
import { isGitName } from "@budgie/core/guard";
import { pathIn, type FolderHandle } from "@budgie/core/walk";
import type { Base } from "../copying/base-files.ts";
import type { FileCalls } from "../host/file-calls.ts";
import type { HostFolder } from "../host/host-folder.ts";
import { readHostEntry } from "../host/read-host-entry.ts";

/** The paths of a directory that changed since a copy of it was made. New ones are not looked for. */
export type Drift = {
  readonly paths: readonly string[];
  /** False if time or bytes were over before all were compared */
  readonly isWhole: boolean;
};

/** The limits of a comparison: a result waits for it. */
export type DriftBounds = { readonly timeMs: number; readonly bytes: number };

const DRIFT_BOUNDS: DriftBounds = { timeMs: 2000, bytes: 64 * 1024 * 1024 };

/**
 * Compares a directory with a base by what lstat says of each file. A file of the same size is read if it was touched since, as far as the
 * bytes allow.
 */
export async function findDrift(
  host: HostFolder,
  { manifest, startedMs = 0 }: Pick<Base, "manifest" | "startedMs">,
  bounds = DRIFT_BOUNDS,
): Promise<Drift> {
  const paths: string[] = [];
  const left = { bytes: bounds.bytes };
  const endsAt = performance.now() + bounds.timeMs;
  let isWhole = true;
  for (const [folder, entries] of groupByFolder(manifest.entries)) {
    const batches = toBatches(entries);
    for (const batch of batches) {
      if (performance.now() > endsAt) return { paths, isWhole: false };
      await letOthersWork();
      const found = await host
        .at(`${folder}.`, (place) => compareAll(place.folder, batch, { calls: host.calls, startedMs, left }))
        // A folder that is missing, or a symlink now, has none of them.
        .catch(() => batch.map(({ path }) => ({ path, isKnown: true })));
      paths.push(...found.flatMap(({ isKnown, path }) => (isKnown ? [path] : [])));
      isWhole &&= found.every(({ isKnown }) => isKnown);
    }
  }
  return { paths, isWhole };
}

/** Groups entries by the path of their folder, which ends in a slash unless it is empty. Git's own are left out, as in change sets. */
function groupByFolder(entries: readonly TreeEntry[]): ReadonlyMap<string, readonly TreeEntry[]> {
  const folders = new Map<string, TreeEntry[]>();
  for (const entry of entries) {
    const folder = entry.path.slice(0, entry.path.lastIndexOf("/") + 1);
    if (entry.path.split("/").some(isGitName)) continue;
    const known = folders.get(folder);
    if (known === undefined) folders.set(folder, [entry]);
    else known.push(entry);
  }
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
  for (const entry of entries) {
    const found = await compare(folder, entry, comparing).catch((error: unknown) =>
      (error as NodeJS.ErrnoException).code === "ENOENT" ? "changed" : "unknown",
    );
    if (found !== "same") drifted.push({ path: entry.path, isKnown: found === "changed" });
  }
  return drifted;
}

async function compare(
  folder: FolderHandle,
  entry: TreeEntry,
  { calls, left, startedMs }: Comparing,
): Promise<"changed" | "same" | "unknown"> {
  const path = pathIn(folder, Buffer.from(entry.path.slice(entry.path.lastIndexOf("/") + 1)));
  const found = await calls.lstat(path);
  if (!(await hasFacts(entry, found, path))) return "changed";
  if (entry.kind !== "file" || Number(found.ctimeMs) < startedMs - CLOCK_MS) return "same";
  left.bytes -= entry.size;
  if (left.bytes < 0) return "unknown";
  return (await hasContent(entry.digest, path, calls)) ? "same" : "changed";
}

// The kernel's times of files are a little older than the clock.
const CLOCK_MS = 1000;

async function hasFacts(entry: TreeEntry, found: BigIntStats, path: Buffer): Promise<boolean> {
  if (entry.kind === "folder") return found.isDirectory();
  if (entry.kind === "link") return found.isSymbolicLink() && (await readlink(path, "utf8")) === entry.target;
  const isExecutable = (Number(found.mode) & 0o111) !== 0;
  return found.isFile() && Number(found.size) === entry.size && isExecutable === ((entry.mode & 0o111) !== 0);
}

async function hasContent(digest: string, path: Buffer, calls: FileCalls): Promise<boolean> {
  const found = await readHostEntry(path, () => true, calls);
  return found.kind === "file" && found.digest === digest;
}
