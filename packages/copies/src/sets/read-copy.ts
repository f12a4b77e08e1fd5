import { addAbortSignal } from "node:stream";
import { BudgieError } from "@budgie/core";
import type { FoundEntry, Manifest, ReadOptions, TreeEntry, TreeFile } from "@budgie/core/copies";
import { hasGitName } from "@budgie/core/guard";
import { checkTreePath, isUtf8 } from "../host/check-tree-path.ts";
import { hashContent } from "../objects/hash-content.ts";
import type { ObjectStore } from "../objects/object-store.ts";
import { createFoundChanges } from "./create-found-changes.ts";
import type { Change, Side } from "./change-set.ts";
import { createSeenPaths } from "./seen-paths.ts";
import type { SetBounds } from "./set-bounds.ts";
import { untilAborted } from "./until-aborted.ts";

/** The differences that reading a copy finds. */
export type CopyReading = {
  readonly changes: readonly Change[];
  readonly gitPaths: number;
  readonly omitted: number;
  /** The folders that git takes for repositories, whatever their names */
  readonly isRepository: (folder: string) => boolean;
  readonly isLink: (path: string) => boolean;
  /** The size of the stored contents */
  readonly bytes: number;
};

/** Reads a copy that an agent wrote, as a runner does. */
export type ReadEntries = (options: Required<ReadOptions>) => AsyncIterable<FoundEntry>;

type Reading = {
  readonly base: Manifest;
  readonly objects: ObjectStore;
  readonly bounds: SetBounds;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Compares a copy with its base while it is read, and stores the contents of changed files. An agent wrote the copy: a path that is no path
 * of the host, is there twice, or lies in what is no folder is listed as refused.
 */
export async function readCopy(
  readEntries: ReadEntries,
  { base, bounds, objects, signal }: Reading,
): Promise<CopyReading> {
  const { gits, others: ofBase } = indexBase(base);
  const seen = createSeenPaths();
  const changes = createFoundChanges(bounds);
  const left = { bytes: bounds.bytes };
  let gitPaths = 0;

  /** Reads an entry, whose path is not trusted. */
  async function read({ entry, ...found }: FoundEntry): Promise<Change | undefined> {
    const { kind, path } = entry;
    const refused = checkTreePath(path) ?? seen.findTwist(path);
    if (refused !== undefined) return { path, refused };
    seen.add(path, kind);
    if (!hasGitName(path)) return compareEntry({ entry, ...found }, ofBase.get(path), { objects, left, bounds });
    if (!gits.has(path)) gitPaths++;
    return undefined;
  }

  /** Takes a file as the fill made it, with what its entry would be checked for: the paths of a base are those of the host. */
  function take({ mode, path, size }: TreeFile): boolean {
    const isSame = isLikeBase({ executable: isExecutable(mode), size }, ofBase.get(path) ?? gits.get(path));
    if (!isSame || seen.findTwist(path) !== undefined) return false;
    count(path);
    seen.add(path, "file");
    return true;
  }

  const count = createCount(bounds);
  for await (const each of untilAborted(readEntries({ take }), signal)) {
    const { content, entry } = each;
    count(entry.path);
    if (content !== undefined && signal !== undefined) addAbortSignal(signal, content);
    // A stream that is destroyed may fail later, when nobody reads it.
    content?.on("error", () => undefined);
    try {
      changes.add(await read(each));
    } finally {
      content?.destroy();
    }
  }
  for (const [path, entry] of ofBase) if (!seen.has(path)) changes.add({ path, before: toSide(entry) });
  return {
    changes: changes.list(),
    gitPaths,
    omitted: changes.countOmitted(),
    isRepository: seen.isRepository,
    isLink: seen.isLink,
    bytes: bounds.bytes - left.bytes,
  };
}

type IndexedBase = { readonly gits: ReadonlyMap<string, TreeEntry>; readonly others: ReadonlyMap<string, TreeEntry> };

// Each turn of a session compares with the same base, until something is applied.
const indexed = new WeakMap<Manifest, IndexedBase>();

/** Returns the entries of a base by their paths, git's own apart. */
function indexBase(base: Manifest): IndexedBase {
  const known = indexed.get(base);
  if (known !== undefined) return known;
  const [gits, others] = [new Map<string, TreeEntry>(), new Map<string, TreeEntry>()];
  for (const entry of base.entries) (hasGitName(entry.path) ? gits : others).set(entry.path, entry);
  indexed.set(base, { gits, others });
  return { gits, others };
}

/** Returns a function that counts an entry of the copy, and throws once these are too many. */
function createCount({ entries: most, pathBytes }: SetBounds): (path: string) => void {
  let [entries, bytes] = [0, 0];
  return (path) => {
    entries += 1;
    bytes += Buffer.byteLength(path);
    if (entries > most) throw tooMany(`more than ${most} entries`);
    if (bytes > pathBytes) throw tooMany("names that are too long in sum");
  };
}

function tooMany(what: string): BudgieError {
  return new BudgieError(
    "WORKSPACE_INVALID",
    `The copy has ${what}, so its changes cannot be collected. Have the agent remove what it made.`,
  );
}

type Comparing = {
  readonly objects: ObjectStore;
  readonly bounds: SetBounds;
  readonly left: { bytes: number };
};

async function compareEntry(
  { content, entry }: FoundEntry,
  base: TreeEntry | undefined,
  comparing: Comparing,
): Promise<Change | undefined> {
  const { path } = entry;
  const before = base === undefined ? {} : { before: toSide(base) };
  if (entry.kind === "other") return { path, ...before, refused: "it is neither file, folder nor symlink" };
  if (entry.kind === "folder") {
    return base?.kind === "folder" ? undefined : { path, ...before, after: { kind: "folder" } };
  }
  if (entry.kind === "link") return compareLink({ path, target: entry.target }, base);
  const after = await readFile({ content, size: entry.size, mode: entry.mode }, base, comparing);
  if (after === undefined) return undefined;
  const notes = (entry.mode & 0o7000) === 0 ? {} : { notes: ["its setuid, setgid or sticky bit is not applied"] };
  const refused = after.kept ? {} : { refused: "its content is not kept, since it or the set is too large" };
  return { path, ...before, after, ...notes, ...refused };
}

function compareLink(link: { readonly path: string; readonly target: string }, base: TreeEntry | undefined) {
  const { path, target } = link;
  if (base?.kind === "link" && base.target === target) return undefined;
  const before = base === undefined ? {} : { before: toSide(base) };
  const isSound = target !== "" && Buffer.byteLength(target) < 4096 && isUtf8(target) && !target.includes("\0");
  const refused = isSound ? {} : { refused: "its target is not a path in UTF-8" };
  return { path, ...before, after: { kind: "link", target: target.slice(0, 4096) }, ...refused } as const;
}

type FoundFile = Pick<FoundEntry, "content"> & { readonly size: number; readonly mode: number };
type FileSide = Extract<Side, { kind: "file" }>;

/** Reads a file of the copy, and stores it if it differs from the base; `undefined` if it is the same. */
async function readFile(
  { content, mode, size }: FoundFile,
  base: TreeEntry | undefined,
  { bounds, left, objects }: Comparing,
): Promise<FileSide | undefined> {
  const unread = { kind: "file", executable: isExecutable(mode), size, kept: false } as const;
  if (content === undefined) return unread;
  const room = Math.min(bounds.fileBytes, left.bytes);
  if (size > room) return hashOnly(unread, content, base);
  const held = await holdSmall(content, size, base);
  // More than it said that it has.
  if (held === undefined) return unread;
  if ("digest" in held && isSameFile({ ...unread, digest: held.digest }, base)) return undefined;
  const staged = await objects.stage(held.pieces, room);
  if (staged === undefined) return unread;
  const side = { ...unread, size: staged.size, digest: staged.digest, kept: true };
  if (isSameFile(side, base)) {
    await staged.discard();
    return undefined;
  }
  await staged.keep();
  left.bytes -= staged.size;
  return side;
}

type Held = { readonly pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>; readonly digest?: string };

/**
 * Hashes a small file of the base's size before anything is written, since most files are as they were; others stay unread. Resolves to
 * `undefined` for one that has more than it said.
 */
async function holdSmall(
  content: AsyncIterable<Uint8Array>,
  size: number,
  base: TreeEntry | undefined,
): Promise<Held | undefined> {
  if (size > SMALL_BYTES || base?.kind !== "file" || base.size !== size) return { pieces: content };
  const pieces: Uint8Array[] = [];
  const digest = await hashContent(content, size, (piece) => void pieces.push(piece));
  if (pieces.reduce((bytes, { length }) => bytes + length, 0) > size) return undefined;
  return { pieces, ...(digest === undefined ? {} : { digest }) };
}

const SMALL_BYTES = 1024 ** 2;

/** Hashes a file that is not kept. Only one of the base's size can be the base's. */
async function hashOnly(
  unread: FileSide,
  content: AsyncIterable<Uint8Array>,
  base: TreeEntry | undefined,
): Promise<FileSide | undefined> {
  if (base?.kind !== "file" || base.size !== unread.size) return unread;
  const digest = await hashContent(content, base.size);
  if (digest === undefined) return unread;
  const side = { ...unread, digest };
  return isSameFile(side, base) ? undefined : side;
}

function isSameFile(side: FileSide, base: TreeEntry | undefined): boolean {
  return isLikeBase(side, base) && base?.kind === "file" && base.digest === side.digest;
}

/** Returns true if a file has the size and the execute bits of the base's. */
function isLikeBase({ executable, size }: Pick<FileSide, "executable" | "size">, base: TreeEntry | undefined): boolean {
  return base?.kind === "file" && base.size === size && isExecutable(base.mode) === executable;
}

function isExecutable(mode: number): boolean {
  return (mode & 0o111) !== 0;
}

function toSide(entry: TreeEntry): Side {
  if (entry.kind === "folder") return { kind: "folder" };
  if (entry.kind === "link") return { kind: "link", target: entry.target };
  const { digest, mode, size } = entry;
  return { kind: "file", executable: isExecutable(mode), size, digest, kept: false };
}
