import { isUtf8 } from "node:buffer";
import type { Stats } from "node:fs";
import { readlink } from "node:fs/promises";
import { pathIn, statEntries, type Looked, type Next, type VisitedFolder } from "@budgie/core/walk";
import type { GitPart } from "../git/is-git-part.ts";
import { readSmallFile } from "../git/read-small-file.ts";
import { STAGE_PREFIX } from "../host/stage-prefix.ts";
import { addIgnoreFile, type IgnoreRules } from "../rules/ignore-rules.ts";
import type { EntrySink } from "./entry-sink.ts";
import { judgeEntry, type FolderState, type Judge } from "./judge-entry.ts";
import type { LeftOutList } from "./left-out.ts";
import type { SelectedEntry } from "./selection.ts";

/** The selection in progress. */
export type Visiting = {
  readonly judge: Judge;
  /** The path of the directory in its repository, with a slash at its end */
  readonly prefix: string;
  /** True if the directory's `.git` is a file that names the git folder, which is copied in its place */
  readonly hasOtherGit: boolean;
  readonly leftOut: LeftOutList;
  readonly sink: EntrySink;
  /** The device of the directory */
  readonly device: number;
};

export type TreeKind = {
  readonly area: "tree";
  /** The path in the directory with a slash at its end; empty for the directory itself */
  readonly path: string;
  /** The same as bytes in latin1 */
  readonly bytes: string;
  readonly state: FolderState;
  readonly rules: IgnoreRules;
  /** The folder itself, if it is copied only with something in it */
  readonly later?: SelectedEntry | undefined;
};

export type GitKind = {
  readonly area: "git";
  /** The path in git's folder with a slash at its end */
  readonly path: string;
  readonly part: GitPart;
  /** Git's folder, if it lies outside the directory */
  readonly root?: string | undefined;
};

/** The knowledge of a folder to visit. */
export type FolderKind = TreeKind | GitKind;

const LARGEST_IGNORE_FILE = 1024 ** 2;

/** Selects from a folder of the directory, and lists the folders in it to visit. */
export async function visitTree(
  visiting: Visiting,
  folder: VisitedFolder,
  kind: TreeKind,
): Promise<readonly Next<FolderKind>[]> {
  if (kind.later !== undefined) visiting.sink.addLater(folder.path, kind.later);
  const rules = kind.state === "open" ? await addOwnRules(visiting, folder, kind) : kind.rules;
  const next: Next<FolderKind>[] = [];
  for await (const batch of folder.batches()) {
    for (const looked of await statEntries(folder, batch, { isLocal: true })) {
      const found = await visitEntry(visiting, folder, { looked, kind: { ...kind, rules } });
      if (found !== undefined) next.push({ name: looked.entry.name, kind: found });
    }
  }
  return next;
}

async function addOwnRules({ judge, prefix }: Visiting, folder: VisitedFolder, kind: TreeKind): Promise<IgnoreRules> {
  const file = await readSmallFile(pathIn(folder, Buffer.from(".gitignore")), LARGEST_IGNORE_FILE);
  if (file === undefined) return kind.rules;
  const text = file === "too-large" ? "*" : file.toString("latin1");
  return addIgnoreFile(kind.rules, judge.fold(prefix + kind.bytes), judge.fold(text));
}

type Visit = { readonly looked: Looked; readonly kind: TreeKind };

async function visitEntry(
  visiting: Visiting,
  folder: VisitedFolder,
  { kind, looked }: Visit,
): Promise<FolderKind | undefined> {
  const { leftOut } = visiting;
  const { found } = looked;
  const { name } = looked.entry;
  const shown = kind.path + name.toString("utf8");
  if (typeof found === "string") return leftOut.add("changed", shown);
  const isFolder = found.isDirectory();
  const fault = findFault(visiting, name, found) ?? findStage(shown);
  if (fault !== undefined) return leftOut.add(fault, shown);
  if (name.equals(GIT)) return visitDotGit(visiting, kind, { shown, isFolder });
  const bytes = kind.bytes + name.toString("latin1");
  const judged = judgeEntry(visiting.judge, {
    name: name.toString("utf8"),
    gitPath: visiting.prefix + bytes,
    path: bytes,
    isFolder,
    state: kind.state,
    rules: kind.rules,
  });
  if ("leftOut" in judged) return leftOut.add(judged.leftOut, isFolder ? `${shown}/` : shown);
  const place = { folder: folder.path, name, mtimeMs: found.mtimeMs };
  if (!isFolder) return addPlain(visiting, folder, { place, path: shown, stats: found });
  const entry: SelectedEntry = { ...place, entry: { path: shown, kind: "folder", mode: found.mode & 0o777 } };
  if (judged.state !== "sparse") visiting.sink.add(entry);
  const inside = { path: `${shown}/`, bytes: `${bytes}/`, state: judged.state, rules: kind.rules };
  return { area: "tree", ...inside, later: judged.state === "sparse" ? entry : undefined };
}

const GIT = Buffer.from(".git");

function findFault({ device }: Visiting, name: Buffer, stats: Stats): "device" | "kind" | "name" | undefined {
  if (!isUtf8(name)) return "name";
  if (!stats.isDirectory() && !stats.isFile() && !stats.isSymbolicLink()) return "kind";
  return stats.dev === device ? undefined : "device";
}

/** Finds an apply's folder, of which a file may be the only copy of a user's. */
function findStage(shown: string): "stage" | undefined {
  return shown.slice(shown.lastIndexOf("/") + 1).startsWith(STAGE_PREFIX) ? "stage" : undefined;
}

/** Follows git's folder at the root of the directory alone. */
function visitDotGit(
  { hasOtherGit, leftOut, prefix }: Visiting,
  kind: TreeKind,
  { isFolder, shown }: { readonly shown: string; readonly isFolder: boolean },
): GitKind | undefined {
  if (kind.path !== "" || prefix !== "") return leftOut.add("nested", isFolder ? `${shown}/` : shown);
  if (isFolder) return { area: "git", path: "", part: "whole" };
  return hasOtherGit && !isFolder ? undefined : leftOut.add("git", shown);
}

type Plain = {
  readonly place: Pick<SelectedEntry, "folder" | "mtimeMs" | "name">;
  readonly path: string;
  readonly stats: Stats;
};

async function addPlain(
  { leftOut, sink }: Visiting,
  folder: VisitedFolder,
  { path, place, stats }: Plain,
): Promise<undefined> {
  if (stats.isFile()) {
    const seen = { inode: stats.ino, changedMs: stats.ctimeMs };
    sink.add({ ...place, seen, entry: { path, kind: "file", mode: stats.mode & 0o777, size: stats.size } });
    return undefined;
  }
  const target = await readlink(pathIn(folder, place.name), { encoding: "buffer" }).catch(() => undefined);
  if (target === undefined) return leftOut.add("changed", path);
  if (!isUtf8(target)) return leftOut.add("name", path);
  sink.add({ ...place, entry: { path, kind: "link", target: target.toString("utf8") } });
  return undefined;
}
