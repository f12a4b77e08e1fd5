import { BudgieError, type Owner } from "@budgie/core";
import { noteDirectory, type FileTrust } from "@budgie/core/policy";
import { underWay } from "@budgie/store";
import { openHostFolder, type HostFolder } from "../host/host-folder.ts";
import {
  isOpen,
  notOpen,
  type AppliedPath,
  type ApplyOutcome,
  type ChangeSets,
  type StoredSet,
} from "../sets/change-sets.ts";
import type { Change } from "../sets/change-set.ts";
import { createMergeChange } from "./merge-change.ts";
import { planApply, type PlannedApply } from "./plan-apply.ts";
import { recoverApplies } from "./recover-applies.ts";
import { runApply } from "./run-apply.ts";
import type { OnStep } from "./take-steps.ts";

export type ApplyOptions = {
  readonly sets: ChangeSets;
  readonly owner: Owner;
  /** The change id, or its beginning */
  readonly id: string;
  /** `stop`: a conflict applies nothing; `skip`: everything else is applied; `merge`: the same, once texts are merged where that is clear */
  readonly onConflict: OnConflict;
  /** True to write guarded paths too */
  readonly withGuarded: boolean;
  /** Remembers the directory: what an agent wrote in its copy is an agent's there too */
  readonly fileTrust: Pick<FileTrust, "note">;
  readonly onStep?: OnStep;
};

/** The way in which an apply treats paths that changed in the directory. */
export type OnConflict = "stop" | "skip" | "merge";

/** The results of an apply or undo, and the state of the set after it. */
export type ApplyResult = ApplyOutcome & {
  readonly id: string;
  readonly state: StoredSet["state"];
  readonly directory: string;
};

/**
 * Applies a change set to its directory: all that is neither held back nor in conflict, or nothing. Throws `INPUT_INVALID` for a set that is
 * not pending, `WORKSPACE_INVALID` if the directory is another one now, and `STATE_UNUSABLE` if the directory cannot be remembered.
 */
export async function applyChanges(options: ApplyOptions): Promise<ApplyResult> {
  const { fileTrust, id, onConflict, owner, sets, withGuarded } = options;
  await recoverApplies({ sets, owner });
  const stored = await sets.find(id);
  if (!isOpen(stored)) throw notOpen(stored);
  return withDirectory(stored, sets, async (host) => {
    const merge = onConflict === "merge" ? createMergeChange(host, sets.objects) : undefined;
    const plan = await planApply(host, listChanges(stored), { withGuarded, merge });
    if (plan.conflicts.length > 0 && onConflict === "stop") return toUnchanged(stored, plan);
    const outcome: ApplyOutcome = { ...pickOutcome(plan), applied: joinApplied(stored, plan.applied) };
    const isWhole = plan.conflicts.length + plan.heldBack.length === 0;
    const state = isWhole ? "applied" : outcome.applied.length > 0 ? "partly" : stored.state;
    noteDirectory(fileTrust, stored.directory);
    const failures = await runApply({ ...options, host, stored, plan, done: { state, outcome } });
    if (failures.length > 0) return toUnchanged(stored, { ...plan, conflicts: failures });
    return { ...outcome, id: stored.id, directory: stored.directory, state };
  });
}

/** Lists the changes of a set as they were written: those that were merged have the merged versions. */
export function listChanges({ outcome, set }: StoredSet): readonly Change[] {
  const merged = new Map(outcome?.applied.map((each) => [each.path, each.merged]));
  return set.changes.map((change) => ({ ...change, ...merged.get(change.path) }));
}

/** Returns the result of an apply or undo that wrote nothing. */
export function toUnchanged({ directory, id, state }: StoredSet, plan: PlannedApply): ApplyResult {
  return { ...pickOutcome(plan), applied: [], id, directory, state };
}

function pickOutcome({ conflicts, heldBack, refused }: PlannedApply): Omit<ApplyOutcome, "applied"> {
  return { conflicts, heldBack, refused };
}

/** Joins the paths of an earlier apply of the set in part, whose rights are those to restore unless this one wrote over another version. */
function joinApplied({ outcome }: StoredSet, applied: readonly AppliedPath[]): readonly AppliedPath[] {
  const earlier = new Map(outcome?.applied.map((each) => [each.path, each]));
  for (const each of applied) {
    const before = earlier.get(each.path);
    const isWritten = each.already !== true && (each.merged !== undefined || before?.already === true);
    if (before === undefined || isWritten) earlier.set(each.path, each);
  }
  return [...earlier.values()];
}

/**
 * Runs work in a set's directory. Throws `WORKSPACE_INVALID` if another one is at its path, and `INPUT_INVALID` if an apply or undo is under
 * way in it.
 */
export async function withDirectory<T>(
  { directory, root }: StoredSet,
  { archive }: ChangeSets,
  work: (host: HostFolder) => Promise<T>,
): Promise<T> {
  const host = await openHostFolder(directory).catch((error: unknown) => {
    throw elsewhere(directory, error);
  });
  try {
    if (host.identity !== root) throw elsewhere(directory, undefined);
    // Half of an apply would look like conflicts.
    if ((await archive.journals()).some((journal) => journal.root === root)) throw underWay(directory);
    return await work(host);
  } finally {
    host.close();
  }
}

function elsewhere(directory: string, cause: unknown): BudgieError {
  return new BudgieError(
    "WORKSPACE_INVALID",
    `"${directory}" is not the directory that the agent's copy was made of: it was removed, moved or replaced since. Nothing was written.`,
    { cause },
  );
}
