import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import pLimit from "p-limit";
import { isForge, toNameKind, type FolderKind, type NameKind } from "./executable-names.ts";
import { readPlainFile, toFingerprint, toScriptsText, type ByteBudget } from "./fingerprint.ts";

/** The things of a workspace that the host runs, and what each was like. */
export type Snapshot = {
  /** By path: relative to the workspace, or absolute when outside */
  readonly fingerprints: ReadonlyMap<string, string>;
  /** Folders that were found and not looked into, for a bound or for want of permission */
  readonly unread: ReadonlySet<string>;
};

export type SnapshotBounds = {
  readonly entries: number;
  readonly bytes: number;
  readonly timeMs: number;
};

const BOUNDS: SnapshotBounds = { entries: 200_000, bytes: 32 * 1024 * 1024, timeMs: 5000 };

type Folder = { readonly path: string; readonly kind: FolderKind };

type Walk = {
  readonly workspace: string;
  readonly fingerprints: Map<string, string>;
  readonly unread: Set<string>;
  readonly seen: Set<string>;
  readonly bytes: ByteBudget;
  readonly deadline: number;
  entriesLeft: number;
};

/** Looks at a workspace, and at the git folder that it points to. Follows no link, and never fails. */
export async function takeSnapshot(workspace: string, bounds: SnapshotBounds = BOUNDS): Promise<Snapshot> {
  const walk: Walk = {
    workspace,
    fingerprints: new Map(),
    unread: new Set(),
    seen: new Set(),
    bytes: { left: bounds.bytes },
    deadline: performance.now() + bounds.timeMs,
    entriesLeft: bounds.entries,
  };
  const limit = pLimit(16);
  // Breadth first: when a bound is met, what lies near the root has been seen.
  for (let level: readonly Folder[] = [{ path: "", kind: "plain" }]; level.length > 0;) {
    level = (await Promise.all(level.map((folder) => limit(() => visit(walk, folder))))).flat();
  }
  return walk;
}

/** Notes what is in a folder, and gives back the folders in it that are to be visited. */
async function visit(walk: Walk, folder: Folder): Promise<readonly Folder[]> {
  if (walk.seen.has(folder.path)) return [];
  walk.seen.add(folder.path);
  const entries = await list(walk, folder.path);
  // Planted at the root, what makes a repository must not turn off the rest.
  const kind = folder.kind === "plain" && isGitFolder(entries) ? "bare" : folder.kind;
  const found = entries
    .map((entry): Found => ({ entry, path: toChild(folder.path, entry.name), meaning: toNameKind(entry.name, kind) }))
    .filter(({ entry, meaning }) => (entry.isDirectory() ? meaning !== "none" : FILE_KINDS.has(meaning)));
  const folders = found.filter(({ entry }) => entry.isDirectory()).map(toFolder);
  // Most files are of no interest, and a promise for each of them would cost more than all else.
  const files = found.filter(({ entry }) => !entry.isDirectory()).map((file) => note(walk, file));
  return [...folders, ...(await Promise.all(files)).flat()];
}

type Found = { readonly entry: Dirent; readonly path: string; readonly meaning: NameKind };

const FILE_KINDS: ReadonlySet<NameKind> = new Set(["git", "package", "watched"]);

async function list(walk: Walk, path: string): Promise<readonly Dirent[]> {
  try {
    if (walk.entriesLeft > 0 && performance.now() < walk.deadline) {
      const entries = await readdir(toHostPath(walk, path), { withFileTypes: true });
      walk.entriesLeft -= entries.length;
      return entries;
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
  }
  walk.unread.add(path);
  return [];
}

/** By what is in it: git takes any such folder for a repository, whatever its name. */
function isGitFolder(entries: readonly Dirent[]): boolean {
  return ["HEAD", "objects", "refs"].every((name) => entries.some((entry) => entry.name === name));
}

/** Notes what a file or link is, and gives back the folders that it points to if git goes there. */
async function note(walk: Walk, { entry, meaning, path }: Found): Promise<readonly Folder[]> {
  const toText = meaning === "package" ? toScriptsText : undefined;
  const fingerprint = await toFingerprint(toHostPath(walk, path), walk.bytes, toText);
  if (fingerprint !== undefined) walk.fingerprints.set(path, fingerprint);
  return meaning === "git" && entry.isFile() ? toGitFolders(walk, path) : [];
}

function toFolder({ entry, meaning, path }: Found): Folder {
  if (meaning !== "enter" && meaning !== "package") return { path, kind: meaning === "none" ? "plain" : meaning };
  return { path, kind: isForge(entry.name) ? "forge" : "plain" };
}

function toChild(path: string, name: string): string {
  return path === "" ? name : `${path}/${name}`;
}

/** A worktree's or a submodule's `.git` is a file that names the real folder, and that one may name another. */
async function toGitFolders(walk: Walk, path: string): Promise<readonly Folder[]> {
  const file = toHostPath(walk, path);
  const target = await readLine(file, /^gitdir: (.+)$/m);
  if (target === undefined) return [];
  const own = resolve(dirname(file), target);
  const common = await readLine(join(own, "commondir"), /^(.+)$/m);
  const folders = common === undefined ? [own] : [own, resolve(own, common)];
  return folders.map((folder) => ({ path: toShownPath(walk, folder), kind: "git" as const }));
}

async function readLine(path: string, form: RegExp): Promise<string | undefined> {
  const content = await readPlainFile(path).catch(() => undefined);
  return form.exec(content?.subarray(0, 4096).toString("utf8") ?? "")?.[1];
}

function toHostPath({ workspace }: Walk, path: string): string {
  return isAbsolute(path) ? path : join(workspace, path);
}

function toShownPath({ workspace }: Walk, path: string): string {
  return path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path;
}
