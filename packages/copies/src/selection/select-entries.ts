import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { BudgieError } from "@budgie/core";
import type { GitFolders } from "@budgie/core/policy";
import { formatPath, MOST_LEVELS, walkWorkspace, type Next, type VisitedFolder } from "@budgie/core/walk";
import { loadRepository, type UserGit } from "../git/load-repository.ts";
import { readSmallFile } from "../git/read-small-file.ts";
import { addIgnoreFile, NO_RULES, type IgnoreRules } from "../rules/ignore-rules.ts";
import { createCopyTally, createMatchBudget, LARGEST_COPY, type CopyBounds } from "./copy-bounds.ts";
import { createEntrySink } from "./entry-sink.ts";
import { createLeftOut, type LeftOutList } from "./left-out.ts";
import type { Judge } from "./judge-entry.ts";
import type { CopyWishes, Selection } from "./selection.ts";
import { finishGit, visitGit } from "./visit-git.ts";
import { visitTree, type FolderKind, type Visiting } from "./visit-tree.ts";

export type SelectOptions = {
  readonly wishes: CopyWishes;
  readonly userGit: UserGit;
  /** The git folders of a worktree or submodule, which were checked; default: the directory has its own */
  readonly git?: Pick<GitFolders, "common" | "own"> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Default {@link LARGEST_COPY} */
  readonly bounds?: CopyBounds | undefined;
};

/**
 * Selects what a copy gets of a directory, given by its real path: walks it by open folders, never through a symlink, and runs no git. Throws
 * `WORKSPACE_INVALID` if that is too much, or the directory cannot be read.
 */
export async function selectEntries(directory: string, options: SelectOptions): Promise<Selection> {
  const { bounds = LARGEST_COPY, git, userGit, wishes } = options;
  const root = await lstat(directory).catch((cause: unknown) => {
    throw unreadableError(directory, cause);
  });
  const facts = await loadRepository(directory, userGit);
  const leftOut = createLeftOut();
  for (const note of facts.notes) leftOut.note(note);
  const tally = createCopyTally(directory, bounds);
  const judge: Judge = {
    files: wishes.files,
    tracked: facts.tracked,
    trackedFolders: listFolders(facts.tracked.files),
    include: toRules([...(await readWorktreeInclude(directory, wishes, leftOut)), ...wishes.include]),
    exclude: toRules(wishes.exclude),
    fold: facts.fold,
    budget: createMatchBudget(directory, bounds),
  };
  const sink = createEntrySink(tally, bounds.entries);
  const visiting: Visiting = {
    judge,
    prefix: facts.prefix,
    hasOtherGit: git !== undefined,
    leftOut,
    sink,
    device: root.dev,
  };
  await walk(directory, { visiting, kind: rootKind(facts.rules), signal: options.signal });
  for (const kind of listGitKinds(git)) await walk(kind.root, { visiting, kind, signal: options.signal });
  finishGit(visiting, bounds);
  const entries = sink.list();
  tally.check();
  return { directory, entries, bytes: tally.bytes(), leftOut };
}

/** The most entries that are looked at, and the longest time: far more than a copy may have, since ignored ones count. */
const WALK = { entries: 3_000_000, timeMs: 120_000 };

type Walking = { readonly visiting: Visiting; readonly kind: FolderKind; readonly signal: AbortSignal | undefined };

async function walk(directory: string, { kind: root, signal, visiting }: Walking): Promise<void> {
  const failing = new AbortController();
  const fail = (error: unknown): void => failing.abort(error);
  const visit = async (folder: VisitedFolder, kind: FolderKind): Promise<readonly Next<FolderKind>[]> => {
    try {
      return await (kind.area === "git" ? visitGit(visiting, folder, kind) : visitTree(visiting, folder, kind));
    } catch (error) {
      // The walk takes every error with a code for one of the file system.
      if (!(error instanceof BudgieError)) throw error;
      fail(error);
      return [];
    }
  };
  await walkWorkspace<FolderKind>(directory, {
    bounds: WALK,
    kind: root,
    visit,
    signal: signal === undefined ? failing.signal : AbortSignal.any([signal, failing.signal]),
    onUnread({ code, path, why }) {
      if (path === "" || (code === undefined && !why.includes(`${MOST_LEVELS} folders`))) {
        fail(unreadableError(directory, why));
      } else visiting.leftOut.add(toReason(code), `${formatPath(path)}/`);
    },
  });
  signal?.throwIfAborted();
  failing.signal.throwIfAborted();
}

function rootKind(rules: IgnoreRules): FolderKind {
  return { area: "tree", path: "", bytes: "", state: "open", rules };
}

/** Lists the folders of which the `.git` of a worktree's or submodule's copy is made. */
function listGitKinds(git: SelectOptions["git"]) {
  if (git === undefined) return [];
  const kind = { area: "git", path: "" } as const;
  if (git.own === git.common) return [{ ...kind, part: "whole", root: git.own } as const];
  return [{ ...kind, part: "common", root: git.common } as const, { ...kind, part: "own", root: git.own } as const];
}

function toReason(code: string | undefined): Parameters<LeftOutList["add"]>[0] {
  if (code === undefined) return "deep";
  return code === "EACCES" || code === "EPERM" ? "unreadable" : "changed";
}

function unreadableError(directory: string, why: unknown): BudgieError {
  const reason = typeof why === "string" ? why : `it cannot be read (${String((why as NodeJS.ErrnoException).code)})`;
  return new BudgieError(
    "WORKSPACE_INVALID",
    `"${directory}" cannot be copied: ${reason}. Call with a smaller directory.`,
  );
}

function toRules(patterns: readonly string[]): IgnoreRules {
  return addIgnoreFile(NO_RULES, "", Buffer.from(patterns.join("\n")).toString("latin1"));
}

// So many bytes have fewer lines than a list of patterns may have, beyond which such a list matches everything.
const LARGEST_INCLUDE = 16 * 1024;

/** Reads the patterns of a directory's `.worktreeinclude`, if the user wishes so: anybody who writes in the directory can ask for secrets there. */
async function readWorktreeInclude(
  directory: string,
  { worktreeInclude }: CopyWishes,
  leftOut: LeftOutList,
): Promise<readonly string[]> {
  if (!worktreeInclude) return [];
  const found = await readSmallFile(join(directory, ".worktreeinclude"), LARGEST_INCLUDE);
  if (found !== "too-large") return found?.toString("utf8").split("\n") ?? [];
  leftOut.note(
    `The directory's .worktreeinclude does not count, since it has more than ${LARGEST_INCLUDE / 1024} KiB.`,
  );
  return [];
}

/** Lists all folders of files. */
function listFolders(files: ReadonlySet<string>): ReadonlySet<string> {
  const folders = new Set<string>();
  for (const file of files) {
    for (let at = file.lastIndexOf("/"); at > 0; at = file.lastIndexOf("/", at - 1)) {
      const folder = file.slice(0, at);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  }
  return folders;
}
