import { geteuid } from "node:process";
import { hasGitName } from "@budgie/core/guard";
import { checkTreePath } from "../host/check-tree-path.ts";
import type { FileCalls } from "../host/file-calls.ts";
import { forEachByFolder, type FoundPlace } from "../host/for-each-by-folder.ts";
import type { HostFolder } from "../host/host-folder.ts";
import { readHostEntry, type HostEntry } from "../host/read-host-entry.ts";
import { STAGE_PREFIX } from "../host/stage-prefix.ts";
import { LARGEST_FILE_BYTES } from "../objects/object-store.ts";
import type { AppliedPath, Unapplied } from "../sets/change-sets.ts";
import type { Change, MergedSides, Side } from "../sets/change-set.ts";
import { isSide } from "../sets/is-side.ts";
import type { Step } from "./apply-plan.ts";
import type { MergeChange } from "./merge-change.ts";

/** The steps that bring changes into a directory, and what stands in the way. */
export type PlannedApply = {
  readonly steps: readonly Step[];
  /** The facts by which the entries that are moved aside are known again, by their paths */
  readonly seen: ReadonlyMap<string, string>;
  /** The paths of the steps, and those that have their change already */
  readonly applied: readonly AppliedPath[];
  readonly conflicts: readonly Unapplied[];
  readonly heldBack: readonly string[];
  readonly refused: readonly Unapplied[];
};

export type PlanOptions = {
  /** True to write guarded paths too */
  readonly withGuarded: boolean;
  /** Permission bits of entries that come back; default those of new ones */
  readonly modes?: ReadonlyMap<string, number>;
  /** Merges changes that are in conflict; default none is */
  readonly merge?: MergeChange | undefined;
};

/** Compares base, host and copy for each change. Writes nothing. */
export async function planApply(
  host: HostFolder,
  changes: readonly Change[],
  { merge = keepConflict, modes = new Map(), withGuarded }: PlanOptions,
): Promise<PlannedApply> {
  const plan = createPlan();
  const made = new Set<string>();
  const looked = await lookAll(host, changes);
  for (const change of changes) {
    const { after, path } = change;
    const stop = findStop(change, withGuarded);
    if (stop === "guarded") plan.heldBack.push(path);
    else if (stop !== undefined) plan.refused.push({ path, why: stop.why });
    else {
      const found = judgeLook(change, looked.get(path), made);
      const judged = "why" in found ? found : await judgeChange(change, found, merge);
      if ("why" in judged) plan.conflicts.push({ path, why: judged.why });
      else {
        if (after?.kind === "folder") made.add(path);
        plan.add(change, { ...judged, mode: modes.get(path) });
      }
    }
  }
  const { applied, conflicts, heldBack, refused, steps } = plan;
  const seen = new Map([...looked].flatMap(([path, found]) => ("seen" in found ? [[path, found.seen] as const] : [])));
  return { applied, conflicts, heldBack, refused, seen, steps: toOrder(steps) };
}

function findStop(change: Change, withGuarded: boolean): "guarded" | { readonly why: string } | undefined {
  const why = findRefusal(change);
  if (why !== undefined) return { why };
  return change.guard === "person" && !withGuarded ? "guarded" : undefined;
}

function createPlan() {
  const [steps, applied]: [Step[], AppliedPath[]] = [[], []];
  const [conflicts, heldBack, refused]: [Unapplied[], string[], Unapplied[]] = [[], [], []];
  return {
    steps,
    applied,
    conflicts,
    heldBack,
    refused,
    add(change: Change, { found, merged, mode }: Judged & { readonly mode: number | undefined }): void {
      const sides = merged === undefined ? change : { ...change, ...merged };
      const isDone = isSide(sides.after, found);
      const rights = "mode" in found ? { mode: found.mode } : {};
      const done = isDone ? ({ already: true } as const) : {};
      applied.push({ path: change.path, ...rights, ...(merged === undefined ? {} : { merged }), ...done });
      if (!isDone) steps.push(...toSteps(sides, found, mode));
    },
  };
}

/** Returns why a change is never written. A stored set is checked again, since an older budgie may have stored it. */
function findRefusal({ path, refused }: Change): string | undefined {
  if (refused !== undefined) return refused;
  if (hasGitName(path)) return "it is of git's own folders";
  if (path.startsWith(STAGE_PREFIX)) return "its name is one that budgie needs";
  return checkTreePath(path);
}

type Looked = HostEntry | { readonly code: string };

/** Reads the host's entries of all changes that may be written. */
async function lookAll(host: HostFolder, changes: readonly Change[]): Promise<ReadonlyMap<string, Looked>> {
  const looked = new Map<string, Looked>();
  const writable = changes.filter((change) => findRefusal(change) === undefined);
  await forEachByFolder(host, writable, async (change, found) => {
    looked.set(change.path, await look(change, found, host.calls));
  });
  return looked;
}

async function look({ after, before }: Change, found: FoundPlace, calls: FileCalls): Promise<Looked> {
  // A file of another size need not be read.
  const sizes = [before, after].map((side) => (side?.kind === "file" ? side.size : undefined));
  try {
    if (!("folder" in found)) throw found;
    return await readHostEntry(found.path, (size) => sizes.includes(size), calls);
  } catch (error) {
    return { code: String((error as NodeJS.ErrnoException).code) };
  }
}

/** Returns the host's entry of a change, or why that cannot be written. */
function judgeLook(
  { after, before, path }: Change,
  looked: Looked | undefined,
  made: ReadonlySet<string>,
): HostEntry | { readonly why: string } {
  if (looked !== undefined && "kind" in looked) return looked;
  const code = looked?.code ?? "";
  // Its folder is made by this apply, or it went with its folder.
  const isMissing = (before === undefined && made.has(toParent(path))) || (after === undefined && code === "ENOENT");
  return isMissing ? { kind: "missing" } : { why: WHYS.get(code) ?? `it cannot be read (${code})` };
}

const WHYS: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "the folder that it is in is missing"],
  ["ENOTDIR", "a folder on the way to it is a symlink, or no folder any more"],
  ["ELOOP", "a folder on the way to it is a symlink"],
  ["EXDEV", "it is on another file system than the directory"],
]);

function toParent(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("/"), 0));
}

/** The host's entry of a change that can be written, and the versions to write in place of the set's. */
type Judged = { readonly found: HostEntry; readonly merged?: MergedSides };

/** Judges a change by the host's entry. One in conflict is written if both versions can be merged. */
async function judgeChange(
  change: Change,
  found: HostEntry,
  merge: MergeChange,
): Promise<Judged | { readonly why: string }> {
  const why = findConflict(change, found);
  if (why === undefined) return { found };
  if (found.kind !== "file" || isSide(change.before, found)) return { why };
  const merged = await merge(change);
  if ("why" in merged) return { why: merged.why === "" ? why : `${why}, and it is not merged: ${merged.why}` };
  const digest = merged.before.kind === "file" ? merged.before.digest : undefined;
  const tie = findTie(found);
  return tie === undefined ? { found: { ...found, digest }, merged } : { why: tie };
}

async function keepConflict(): ReturnType<MergeChange> {
  return { why: "" };
}

function findConflict({ after, before }: Change, found: HostEntry): string | undefined {
  if (isSide(after, found)) return undefined;
  if (!isSide(before, found)) {
    return before === undefined
      ? "the directory has another one of this name"
      : "it changed in the directory since the copy was made";
  }
  if (before?.kind === "file" && !before.kept && before.size > LARGEST_FILE_BYTES) {
    return "its old content is too large to be kept for an undo";
  }
  return found.kind === "file" || found.kind === "link" ? findTie(found) : undefined;
}

// Asked once, since that takes as long as looking at a file.
const OWN_USER = geteuid?.();

/** Returns why a file of the host must not be replaced by another one. */
function findTie(found: Extract<HostEntry, { kind: "file" | "link" }>): string | undefined {
  if (found.links > 1) return "it has hard links, which would keep the old content";
  if (found.uid !== OWN_USER) return "it belongs to another user";
  return found.kind === "file" && (found.mode & 0o200) === 0 ? "it is not writable" : undefined;
}

function toSteps({ after, before, path }: Change, found: HostEntry, mode: number | undefined): readonly Step[] {
  const isReplaced = before !== undefined && after !== undefined && before.kind === after.kind;
  const removal =
    before === undefined || isReplaced ? [] : [toRemoval(path, before, { found, mustGo: after !== undefined })];
  if (after === undefined) return removal;
  if (after.kind === "folder") return [...removal, { op: "mkdir", path, ...(mode === undefined ? {} : { mode }) }];
  return [
    ...removal,
    { op: "write", path, after, ...(isReplaced ? { before } : {}), ...chooseRights(after, found, mode) },
  ];
}

type Removing = { readonly found: HostEntry; readonly mustGo: boolean };

function toRemoval(path: string, before: Side, { found, mustGo }: Removing): Step {
  if (before.kind !== "folder") return { op: "aside", path, before };
  return { op: "rmdir", path, mode: "mode" in found ? found.mode : 0o755, mustGo };
}

/** Chooses the rights of a written file: the host's, with the execute bits of the copy, and no setuid or setgid bit. */
function chooseRights(after: Side, found: HostEntry, known: number | undefined) {
  if (after.kind !== "file") return {};
  if (known !== undefined && found.kind !== "file") return { mode: known & 0o777 };
  if (found.kind !== "file") return {};
  const bits = (known ?? found.mode) & 0o777;
  const isKept = ((bits & 0o111) !== 0) === after.executable;
  const mode = isKept ? bits : after.executable ? bits | ((bits & 0o444) >> 2) : bits & ~0o111;
  return { mode, gid: found.gid };
}

const ORDER = ["aside", "rmdir", "mkdir", "write"];

/** Sorts steps: first what goes, the deepest folders first, then what comes, the highest folders first. */
function toOrder(steps: readonly Step[]): readonly Step[] {
  const depthOf = ({ path }: Step): number => path.split("/").length;
  return steps.toSorted((a, b) => {
    const order = ORDER.indexOf(a.op) - ORDER.indexOf(b.op);
    if (order !== 0) return order;
    return a.op === "rmdir" ? depthOf(b) - depthOf(a) : depthOf(a) - depthOf(b);
  });
}
