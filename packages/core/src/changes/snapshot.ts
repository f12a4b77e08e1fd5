import { ROOT, toPathKey } from "../walk/folder-path.ts";
import { pathIn, type OpenFolder } from "../walk/open-folder.ts";
import {
  walkWorkspace,
  type Entry,
  type Next,
  type VisitedFolder,
  type Walk,
  type WalkBounds,
} from "../walk/walk-workspace.ts";
import { GIT_EFFECTS, findEffect, type Effect } from "./effect.ts";
import { GIT_MARKS, isGitFolder, type FolderKind, type NameKind } from "./name-kind.ts";
import {
  findChangeKind,
  isSameFingerprint,
  readFingerprint,
  hashContent,
  hashScripts,
  type Fingerprint,
  type ReadBudget,
} from "./fingerprint.ts";
import { findFolderKind, createFindMeaning } from "./find-meaning.ts";
import { findGitPaths, NO_GIT_PATHS, type GitPaths } from "./find-git-paths.ts";
import type { FileSearch, FoundChange } from "./files/file-search.ts";
import type { NameWatch } from "./files/name-watch.ts";
import type { NamesBefore } from "./files/names-before.ts";
import type { RiskyEntries } from "./risky-entries.ts";

/** The files of a workspace that the host runs, each with its fingerprint. */
export type Snapshot = {
  /** By path, as `toPathKey` writes it: relative to the workspace, or absolute when outside */
  readonly notes: ReadonlyMap<string, Note>;
  /** The reason why a path was not read, by path */
  readonly unread: ReadonlyMap<string, string>;
  /** The places that git was redirected to when this or the previous snapshot was taken */
  readonly gitPaths: GitPaths;
};

type Note = { readonly fingerprint: Fingerprint; readonly effect: Effect };

type SnapshotBounds = WalkBounds & { readonly read: Readonly<ReadBudget> };

export type SnapshotOptions = {
  readonly bounds?: SnapshotBounds;
  /** The paths that git used at the previous snapshot, so that a turn's changes do not redirect this one */
  readonly gitPaths?: GitPaths | undefined;
  /** Includes entries that the host does not run */
  readonly suspects?: RiskyEntries | undefined;
  /** The same for the git folder outside the workspace that holds the others */
  readonly outsideSuspects?: RiskyEntries | undefined;
  /** Notes the names in the workspace */
  readonly names?: NamesBefore | undefined;
  /** Watches the folders in which the host runs any file */
  readonly nameWatch?: NameWatch | undefined;
  /** Searches the workspace for all that changed; needs `suspects` */
  readonly files?: FileSearch | undefined;
  readonly open?: OpenFolder | undefined;
};

const BOUNDS: SnapshotBounds = {
  entries: 200_000,
  timeMs: 5000,
  read: { bytes: 32 * 1024 * 1024, files: 5000, values: 500_000 },
};

/** Takes a snapshot of a workspace, and of the git folder that it points to. Follows no symlink, and never fails. */
export async function takeSnapshot(workspace: string, options: SnapshotOptions = {}): Promise<Snapshot> {
  const { bounds = BOUNDS, open } = options;
  const deadline = performance.now() + bounds.timeMs;
  const look: Look = {
    workspace,
    notes: new Map(),
    unread: new Map(),
    budget: { ...bounds.read },
    gitPaths: options.gitPaths,
    suspects: options.suspects,
    outside: undefined,
    names: options.names,
    nameWatch: options.nameWatch,
    files: options.files,
  };
  await walkWorkspace(workspace, { ...createWalk(look), bounds, kind: "plain", open });
  const { gitPaths = NO_GIT_PATHS, notes, unread } = look;
  for (const outside of gitPaths.outside) {
    const timeMs = Math.max(deadline - performance.now(), 0);
    const suspects = outside === gitPaths.outside.at(-1) ? options.outsideSuspects : undefined;
    const walk = createWalk({ ...look, outside, suspects, names: undefined, nameWatch: undefined, files: undefined });
    await walkWorkspace(outside, { ...walk, bounds: { ...bounds, timeMs }, kind: "git", open });
  }
  return { notes, unread, gitPaths };
}

type Look = {
  readonly workspace: string;
  readonly notes: Map<string, Note>;
  readonly unread: Map<string, string>;
  readonly budget: ReadBudget;
  gitPaths: GitPaths | undefined;
  readonly suspects: RiskyEntries | undefined;
  /** The folder outside the workspace that is being read */
  readonly outside: string | undefined;
} & Pick<SnapshotOptions, "files" | "names" | "nameWatch">;

type Found = { readonly entry: Entry; readonly meaning: NameKind };

function createWalk(look: Look): Pick<Walk<FolderKind>, "visit" | "onUnread"> {
  return {
    visit: (folder, kind) => visit(look, folder, kind),
    onUnread: ({ code, path, why }) => {
      // If the folder was removed meanwhile, its content counts as removed.
      if (code !== "ENOENT") look.unread.set(toKey(look, path), why);
    },
  };
}

/** Notes the files in a folder, and returns the folders in it to visit. */
async function visit(look: Look, folder: VisitedFolder, kind: FolderKind): Promise<readonly Next<FolderKind>[]> {
  const isRoot = folder.path === ROOT && look.outside === undefined;
  if (isRoot) look.gitPaths ??= await findGitPaths(folder, look.workspace);
  const toMeaning = createFindMeaning(
    look.outside === undefined ? (look.gitPaths ?? NO_GIT_PATHS) : NO_GIT_PATHS,
    folder.path,
  );
  const { candidates, marks } = await gather(look, folder, (name) => toMeaning(name, kind === "plain" ? "bare" : kind));
  // An agent must not switch off the other checks by making the root a bare repository.
  const own = kind === "plain" && isGitFolder(marks) ? "bare" : kind;
  leave(look, folder, own);
  const found = candidates.map((entry): Found => ({ entry, meaning: toMeaning(nameOf(entry), own) }));
  const files = found.filter(({ entry, meaning }) => entry.type !== "folder" && FILE_KINDS.has(meaning));
  await folder.forEach(files, (file) => note({ look, folder, kind: own }, file));
  const entered = found.filter(({ entry }) => entry.type === "folder");
  return entered.flatMap(({ entry, meaning }): readonly Next<FolderKind>[] => {
    const next = findFolderKind(nameOf(entry), meaning, own);
    if (next !== undefined) return [{ name: entry.name, kind: next }];
    return look.suspects === undefined ? [] : [{ name: entry.name, kind: "rest", isLate: true }];
  });
}

/** Collects the folders and interesting files of a folder, and the names by which git recognises a repository. */
async function gather(look: Look, folder: VisitedFolder, toMeaning: (name: string) => NameKind) {
  const candidates: Entry[] = [];
  const marks = new Set<string>();
  // An empty folder has no batch.
  await showTo(look, folder, []);
  for await (const batch of folder.batches()) {
    await showTo(look, folder, batch);
    for (const entry of batch) {
      const name = nameOf(entry);
      if (GIT_MARKS.has(name)) marks.add(name);
      // Most files are of no interest, and there may be very many.
      if (entry.type === "folder" || FILE_KINDS.has(toMeaning(name))) candidates.push(entry);
    }
  }
  return { candidates, marks };
}

async function showTo({ files, names, suspects }: Look, folder: VisitedFolder, batch: readonly Entry[]): Promise<void> {
  names?.add(folder.path, batch);
  const stats = await suspects?.look(folder, batch);
  if (stats !== undefined) files?.see(folder, batch, stats);
}

function leave({ files, nameWatch }: Look, folder: VisitedFolder, kind: FolderKind): void {
  files?.leave(folder, RUN_KINDS.has(kind));
  if (RUN_KINDS.has(kind)) nameWatch?.add(folder);
}

// The host runs any file in these.
const RUN_KINDS: ReadonlySet<FolderKind> = new Set(["forge", "hooks", "watched"]);

const FILE_KINDS: ReadonlySet<NameKind> = new Set(["git", "hooks", "named", "package", "watched"]);

type Noting = { readonly look: Look; readonly folder: VisitedFolder; readonly kind: FolderKind };

/** Notes the fingerprint and the effect of a file or link. */
async function note({ folder, kind, look }: Noting, { entry, meaning }: Found): Promise<void> {
  const name = nameOf(entry);
  const content = meaning === "package" ? hashScripts : undefined;
  const fingerprint = await readFingerprint(pathIn(folder, entry.name), look.budget, content);
  if (fingerprint === undefined) return;
  // The previous snapshot has no such folder to compare with.
  if (folder.isLate && look.suspects?.isNew(fingerprint.ctimeMs) !== true) return;
  const isUsual = kind === "worktree" && name === "commondir" && fingerprint.hash === hashContent(COMMON);
  const effect = isUsual ? "plain" : findEffect(name, meaning, kind);
  look.notes.set(toKey(look, toPathKey(folder.path, entry.name)), { fingerprint, effect });
}

// The content that git writes for each worktree.
const COMMON = Buffer.from("../..\n");

function nameOf({ name }: Entry): string {
  return name.toString("utf8");
}

function toKey({ outside }: Look, path: string): string {
  if (outside === undefined) return path;
  return [Buffer.from(outside).toString("latin1"), ...(path === "" ? [] : [path])].join("/");
}

/** A path that was added, removed or changed, and its effect on the host. */
export type Change = FoundChange & { readonly effect: Effect };

/**
 * Lists the differences between two snapshots, in paths that both could read. Changes that affect git come first, the most dangerous at the
 * top.
 */
export function compareSnapshots(before: Snapshot, after: Snapshot): readonly Change[] {
  const [mayHaveBeen, mayBe] = [createIsDoubtful(before), createIsDoubtful(after)];
  const paths = new Set([...before.notes.keys(), ...after.notes.keys()]);
  return [...paths]
    .filter((path) => !isSameFingerprint(before.notes.get(path)?.fingerprint, after.notes.get(path)?.fingerprint))
    .filter((path) => (before.notes.has(path) || !mayHaveBeen(path)) && (after.notes.has(path) || !mayBe(path)))
    .toSorted()
    .map((path) => toChange(path, before.notes.get(path), after.notes.get(path)))
    .toSorted((one, other) => rankOf(one.effect) - rankOf(other.effect));
}

function toChange(path: string, before: Note | undefined, after: Note | undefined): Change {
  const kind = findChangeKind(before?.fingerprint, after?.fingerprint);
  return { path, effect: (after ?? before)?.effect ?? "plain", kind, size: after?.fingerprint.size };
}

/** Creates a function that returns true for paths that may be missing only because the snapshot could not read them. */
export function createIsDoubtful({ unread }: Snapshot): (path: string) => boolean {
  const folders = new Map<string, boolean>();

  function isInUnread(path: string): boolean {
    const folder = path.slice(0, Math.max(path.lastIndexOf("/"), 0));
    const isUnread = folders.get(folder) ?? isUnknown(folder);
    folders.set(folder, isUnread);
    return isUnread;
  }

  function isUnknown(path: string): boolean {
    return unread.has(path) || (path !== "" && isInUnread(path));
  }

  return (path) => unread.size > 0 && isUnknown(path);
}

function rankOf(effect: Effect): number {
  const rank = GIT_EFFECTS.indexOf(effect);
  return rank === -1 ? GIT_EFFECTS.length : rank;
}

/** Lists paths of which names were seen in between that are not there, or are as they were. */
export function listPassing(before: Snapshot, after: Snapshot, seen: ReadonlySet<string>): readonly FoundChange[] {
  return [...seen].flatMap((path): readonly FoundChange[] => {
    const [then, now] = [before.notes.get(path)?.fingerprint, after.notes.get(path)?.fingerprint];
    if (then === undefined && now === undefined) return [{ path, kind: "came-and-went" }];
    return isSameFingerprint(then, now) ? [{ path, kind: "changed", size: now?.size }] : [];
  });
}
