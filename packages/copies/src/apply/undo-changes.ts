import { BudgieError } from "@budgie/core";
import type { ApplyOutcome, StoredSet } from "../sets/change-sets.ts";
import type { Change, Side } from "../sets/change-set.ts";
import { listChanges, toUnchanged, withDirectory, type ApplyOptions, type ApplyResult } from "./apply-changes.ts";
import { planApply } from "./plan-apply.ts";
import { recoverApplies } from "./recover-applies.ts";
import { runApply } from "./run-apply.ts";

/**
 * Takes an applied change set back: every path that it wrote gets its old content and rights, or nothing is written if one of them changed
 * since. Throws `INPUT_INVALID` for a set that is not applied.
 */
export async function undoChanges(
  options: Omit<ApplyOptions, "fileTrust" | "onConflict" | "withGuarded">,
): Promise<ApplyResult> {
  const { id, owner, sets } = options;
  await recoverApplies({ sets, owner });
  const stored = await sets.find(id);
  const written = (stored.outcome?.applied ?? []).filter(({ already }) => already !== true);
  if (stored.state === "undone" || written.length === 0) throw notApplied(stored);
  return withDirectory(stored, sets, async (host) => {
    const paths = new Set(written.map(({ path }) => path));
    const changes = listChanges(stored)
      .filter(({ path }) => paths.has(path))
      .map(toInverse);
    const modes = new Map(written.flatMap(({ mode, path }) => (mode === undefined ? [] : [[path, mode] as const])));
    const plan = await planApply(host, changes, { withGuarded: true, modes });
    if (plan.conflicts.length > 0) return toUnchanged(stored, plan);
    const outcome: ApplyOutcome = { applied: [], conflicts: [], heldBack: [], refused: plan.refused };
    const state = "undone";
    const failures = await runApply({ ...options, host, stored, plan, done: { state, outcome } });
    if (failures.length > 0) return toUnchanged(stored, { ...plan, conflicts: failures });
    return { ...outcome, applied: plan.applied, id: stored.id, directory: stored.directory, state };
  });
}

function notApplied({ id, state }: StoredSet): BudgieError {
  return new BudgieError("INPUT_INVALID", `The change set "${id.slice(0, 8)}" is ${state}: there is nothing to undo.`);
}

function toInverse({ after, before, path }: Change): Change {
  return {
    path,
    ...(after === undefined ? {} : { before: after }),
    ...(before === undefined ? {} : { after: toStored(before) }),
  };
}

/** Returns a side with its content kept: an apply stores what it moves aside. */
function toStored(side: Side): Side {
  return side.kind === "file" ? { ...side, kept: true } : side;
}
