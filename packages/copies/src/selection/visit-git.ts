import { isUtf8 } from "node:buffer";
import type { Stats } from "node:fs";
import { formatCount } from "@budgie/core/text";
import { pathIn, statEntries, type Looked, type Next, type VisitedFolder } from "@budgie/core/walk";
import { isGitPart } from "../git/is-git-part.ts";
import { findSetting, readSettings } from "../git/read-settings.ts";
import { readSmallFile } from "../git/read-small-file.ts";
import { rewriteConfig } from "../git/rewrite-config.ts";
import type { CopyBounds } from "./copy-bounds.ts";
import type { FolderKind, GitKind, Visiting } from "./visit-tree.ts";

const LARGEST_CONFIG = 1024 ** 2;

/** Selects from git's folder what a copy's git needs, and lists the folders in it to visit. */
export async function visitGit(
  visiting: Visiting,
  folder: VisitedFolder,
  kind: GitKind,
): Promise<readonly Next<FolderKind>[]> {
  if (kind.path === "" && kind.part !== "own") await addConfig(visiting, folder);
  const next: Next<FolderKind>[] = [];
  for await (const batch of folder.batches()) {
    for (const looked of await statEntries(folder, batch, { isLocal: true })) {
      const path = addPart(visiting, folder, { looked, kind });
      if (path !== undefined) next.push({ name: looked.entry.name, kind: { ...kind, path: `${path}/` } });
    }
  }
  return next;
}

async function addConfig({ leftOut, sink }: Visiting, folder: VisitedFolder): Promise<void> {
  const found = await readSmallFile(pathIn(folder, Buffer.from("config")), LARGEST_CONFIG);
  const text = found === undefined || found === "too-large" ? "" : found.toString("utf8");
  const settings = readSettings(text);
  for (const [key, note] of UNSUITED) {
    if (![undefined, "files"].includes(findSetting(settings, key))) leftOut.note(note);
  }
  const content = Buffer.from(rewriteConfig(text));
  const place = { folder: folder.path, mtimeMs: Date.now(), content };
  const folderEntry = { path: ".git", kind: "folder", mode: 0o755 } as const;
  sink.addGit({ ...place, name: Buffer.from(".git"), entry: folderEntry });
  const entry = { path: ".git/config", kind: "file", mode: 0o644, size: content.length } as const;
  sink.addGit({ ...place, name: Buffer.from("config"), entry });
}

/** Adds a part of git's folder. Returns its path if it is a folder to visit. */
function addPart(
  { device, leftOut, sink }: Visiting,
  folder: VisitedFolder,
  { kind, looked }: { readonly looked: Looked; readonly kind: GitKind },
): string | undefined {
  const { found } = looked;
  const { name } = looked.entry;
  if (typeof found === "string" || !isUtf8(name) || isElsewhere(kind, found, device)) return undefined;
  const path = kind.path + name.toString("utf8");
  if (path === "objects/info/alternates" && found.size > 0) leftOut.note(ALTERNATES);
  const type = toType(found);
  if (type === undefined || !isGitPart(path, type, kind.part)) return undefined;
  const seen = { inode: found.ino, changedMs: found.ctimeMs };
  const place = { root: kind.root, folder: folder.path, name, mtimeMs: found.mtimeMs, seen };
  const facts = { path: `.git/${path}`, mode: found.mode & 0o777 };
  sink.addGit({
    ...place,
    entry: type === "file" ? { ...facts, kind: type, size: found.size } : { ...facts, kind: type },
  });
  return type === "folder" ? path : undefined;
}

/** Returns true for an entry on another file system, on which a worktree's git may lie as a whole. */
function isElsewhere({ root }: GitKind, { dev }: Stats, device: number): boolean {
  return root === undefined && dev !== device;
}

function toType(stats: Stats): "folder" | "file" | undefined {
  if (stats.isDirectory()) return "folder";
  return stats.isFile() ? "file" : undefined;
}

const ALTERNATES = "The copy has no .git, since the repository takes objects from another (objects/info/alternates).";
// Settings of repositories whose git would not work in a copy.
const UNSUITED: ReadonlyMap<string, string> = new Map([
  [
    "extensions.refstorage",
    "The copy has no .git, since the repository does not keep its references as files (extensions.refStorage).",
  ],
  [
    "extensions.partialclone",
    "The copy has no .git, since the repository lacks objects that git would fetch (extensions.partialClone).",
  ],
]);
const WITHOUT =
  "The copy's .git has no hooks, logs, submodules and other worktrees; its configuration names no program and no login.";

/** Drops git's folder if a copy cannot have it. */
export function finishGit({ leftOut, sink }: Visiting, { entries, gitBytes }: CopyBounds): void {
  const isUnsuited = leftOut.list().notes.some((note) => note === ALTERNATES || [...UNSUITED.values()].includes(note));
  if (sink.gitBytes() > gitBytes) {
    const size = `${Math.ceil(sink.gitBytes() / 1024 ** 2)} MiB, and ${gitBytes / 1024 ** 2} MiB are the most`;
    leftOut.note(`The copy has no .git, which has ${size}.`);
    sink.dropGit();
  } else if (sink.gitEntries() > entries) {
    leftOut.note(`The copy has no .git, which has more than ${formatCount(entries)} entries.`);
    sink.dropGit();
  } else if (isUnsuited) sink.dropGit();
  else if (sink.gitBytes() > 0) leftOut.note(WITHOUT);
}
