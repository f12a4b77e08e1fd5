import { randomBytes } from "node:crypto";
import { mkdir, rmdir } from "node:fs/promises";
import { BudgieError, type Owner } from "@budgie/core";
import { pathIn, type FolderHandle } from "@budgie/core/walk";
import type { HostFolder } from "../host/host-folder.ts";
import { STAGE_PREFIX } from "../host/stage-prefix.ts";
import type { ApplyOutcome, ChangeSets, StoredSet, Unapplied } from "../sets/change-sets.ts";
import { conflictError, toStageNames, type ApplyPlan, type ConflictError, type Step } from "./apply-plan.ts";
import { storeFile } from "../sets/keep-base.ts";
import { listDigests } from "../sets/list-digests.ts";
import type { PlannedApply } from "./plan-apply.ts";
import { rollBack } from "./roll-back.ts";
import { whileRunning } from "./while-running.ts";
import { emptyStage, stageContents } from "./stage-contents.ts";
import { takeSteps, type OnStep } from "./take-steps.ts";

export type ApplyRun = {
  readonly sets: ChangeSets;
  readonly owner: Owner;
  readonly host: HostFolder;
  readonly stored: StoredSet;
  readonly plan: Pick<PlannedApply, "seen" | "steps">;
  /** The state and outcome to record at the end */
  readonly done: { readonly state: StoredSet["state"]; readonly outcome: ApplyOutcome };
  readonly onStep?: OnStep | undefined;
};

/**
 * Takes the steps of an apply or undo, with a journal: all of them, or none. Returns the paths that changed meanwhile, none if all is
 * written. Rejects with `WORKSPACE_INVALID` if the disk refuses, once everything is put back.
 */
export async function runApply(run: ApplyRun): Promise<readonly Unapplied[]> {
  const stage = `${STAGE_PREFIX}${randomBytes(6).toString("hex")}`;
  await run.owner.hold();
  return whileRunning({ owner: run.owner, stage }, () => runWithJournal(run, stage));
}

async function runWithJournal(run: ApplyRun, stage: string): Promise<readonly Unapplied[]> {
  const { host, owner, plan, sets, stored } = run;
  const { steps } = plan;
  const { archive } = sets;
  const { directory, id, state } = stored;
  const root = host.identity;
  await archive.begin({ root, directory, changeId: id, state, owner: owner.record, plan: { stage, steps } });
  let failures: readonly Unapplied[];
  try {
    await host.at(stage, (place) => mkdir(place.path, 0o700));
    failures = await host.at(`${stage}/.`, ({ folder }) => takeOrRollBack(run, stage, folder));
  } catch (error) {
    // With its journal, what is not back yet is tried again.
    if (!isHalfBack(error)) await clean(run, stage);
    throw unwritable(directory, error);
  }
  if (failures.length === 0) await run.onStep?.("clean");
  await clean(run, stage, failures.length === 0 ? steps : undefined);
  return failures;
}

/** Ends an apply with its stage. If the stage cannot be removed the journal stays, and the next call for an apply tries again. */
async function clean({ host, sets }: ApplyRun, stage: string, steps?: readonly Step[]): Promise<void> {
  try {
    await removeStage(host, stage, steps);
  } catch {
    return;
  }
  await sets.archive.end(host.identity);
}

async function takeOrRollBack(run: ApplyRun, name: string, stage: FolderHandle): Promise<readonly Unapplied[]> {
  const { host, onStep = () => undefined, sets } = run;
  const { seen } = run.plan;
  let { steps } = run.plan;
  try {
    await onStep("stage");
    steps = await stageContents({ host, stage, name, objects: sets.objects }, steps);
    const plan: ApplyPlan = { stage: name, steps };
    // Only folders are staged with something that the journal does not have yet.
    if (steps.some(({ op }) => op === "mkdir")) await sets.archive.plan(host.identity, plan);
    await takeSteps({ host, stage, steps, seen, onStep });
    await keepOld(stage, steps, sets);
    await sets.objects.flush();
    await onStep("commit");
    const digests = listDigests({ ...run.stored, ...run.done });
    const outcome: ApplyOutcome = { ...run.done.outcome, writtenMs: Date.now() };
    await sets.archive.commit(host.identity, { id: run.stored.id, state: run.done.state, outcome, digests });
    return [];
  } catch (error) {
    const left = await rollBack({ host, stage, name, steps });
    await emptyStage({ calls: host.calls, stage }, steps, false);
    const { conflict } = error as Partial<ConflictError>;
    const others = left.filter((path) => path !== conflict?.path);
    if (conflict !== undefined) return [conflict, ...others.map((path) => ({ path, why: WRITTEN }))];
    const kept =
      left.length === 0
        ? ""
        : ` ${left.length} paths could not be put back: look at them, and into "${name}" if it is there.`;
    throw Object.assign(error as Error, { kept });
  }
}

const WRITTEN = "it was written meanwhile, and stays so";

/** Stores the files that were moved aside, so that the apply can be undone. */
async function keepOld(stage: FolderHandle, steps: readonly Step[], { objects }: ChangeSets): Promise<void> {
  for (const [number, step] of steps.entries()) {
    const before = "before" in step ? step.before : undefined;
    if (before?.kind !== "file" || before.kept) continue;
    const old = pathIn(stage, Buffer.from(toStageNames(number).old));
    if (!(await storeFile(old, before.digest, objects))) throw conflictError(step.path, "it was written meanwhile");
  }
}

/** Removes a stage. With steps all that they moved aside goes too; otherwise a stage that still has something stays. */
export async function removeStage(host: HostFolder, stage: string, steps?: readonly Step[]): Promise<void> {
  if (steps !== undefined)
    await host
      .at(`${stage}/.`, ({ folder }) => emptyStage({ calls: host.calls, stage: folder }, steps, true))
      .catch(ignoreGone);
  await host.at(stage, (place) => rmdir(place.path)).catch(ignoreGone);
}

function ignoreGone(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT" && error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
}

function isHalfBack(error: unknown): boolean {
  return (error as { readonly isHalfBack?: true }).isHalfBack === true;
}

function unwritable(directory: string, error: unknown): unknown {
  const { code, kept = "" } = error as NodeJS.ErrnoException & { readonly kept?: string };
  if (error instanceof BudgieError || code === undefined) return error;
  const back = isHalfBack(error) ? "is not all taken back yet: the next call tries again" : "is taken back";
  return new BudgieError(
    "WORKSPACE_INVALID",
    `Cannot write into "${directory}" (${code}), and what was written ${back}.${kept} Make room or the files writable, then try again.`,
    { cause: error },
  );
}
