import { randomBytes } from "node:crypto";
import { mkdir, rmdir } from "node:fs/promises";
import { BudgieError, type Owner } from "@budgie/core";
import { pathIn, type FolderHandle } from "@budgie/core/walk";
import type { HostFolder } from "../host/host-folder.ts";
import type { ApplyOutcome, ChangeSets, StoredSet, Unapplied } from "../sets/change-sets.ts";
import { conflictError, toStageNames, type ApplyPlan, type ConflictError, type Step } from "./apply-plan.ts";
import { storeFile } from "../sets/keep-base.ts";
import { rollBack } from "./roll-back.ts";
import { emptyStage, stageContents, STAGE_PREFIX } from "./stage-contents.ts";
import { takeSteps, type OnStep } from "./take-steps.ts";

export type ApplyRun = {
  readonly sets: ChangeSets;
  readonly owner: Owner;
  readonly host: HostFolder;
  readonly stored: StoredSet;
  readonly steps: readonly Step[];
  /** The state and outcome to record at the end */
  readonly done: { readonly state: StoredSet["state"]; readonly outcome: ApplyOutcome };
  readonly onStep?: OnStep | undefined;
};

/**
 * Takes the steps of an apply or undo, with a journal: all of them, or none. Returns the path that changed meanwhile, `undefined` if all is
 * written. Rejects with `WORKSPACE_INVALID` if the disk refuses, once everything is put back.
 */
export async function runApply(run: ApplyRun): Promise<Unapplied | undefined> {
  const { host, owner, sets, steps, stored } = run;
  const { archive } = sets;
  const stage = `${STAGE_PREFIX}${randomBytes(6).toString("hex")}`;
  await owner.hold();
  const { directory, id, state } = stored;
  const root = host.identity;
  await archive.begin({ root, directory, changeId: id, state, owner: owner.record, plan: { stage, steps } });
  let failure: Unapplied | undefined;
  try {
    await host.at(stage, (place) => mkdir(place.path, 0o700));
    failure = await host.at(`${stage}/.`, ({ folder }) => takeOrRollBack(run, stage, folder));
  } catch (error) {
    await removeStage(host, stage);
    await archive.end(root);
    throw unwritable(directory, error);
  }
  if (failure === undefined) await run.onStep?.("clean");
  await removeStage(host, stage, failure === undefined ? steps : undefined);
  await archive.end(root);
  return failure;
}

async function takeOrRollBack(run: ApplyRun, name: string, stage: FolderHandle): Promise<Unapplied | undefined> {
  const { host, onStep = () => undefined, sets } = run;
  let steps = run.steps;
  try {
    await onStep("stage");
    steps = await stageContents(stage, steps, sets.objects);
    const plan: ApplyPlan = { stage: name, steps };
    await sets.archive.plan(host.identity, plan);
    await takeSteps({ host, stage, steps, onStep });
    await keepOld(stage, steps, sets);
    await onStep("commit");
    await sets.archive.commit(host.identity, { id: run.stored.id, ...run.done });
    return undefined;
  } catch (error) {
    const left = await rollBack({ host, stage, steps });
    await emptyStage(stage, steps, false);
    const { conflict } = error as Partial<ConflictError>;
    if (conflict !== undefined) return conflict;
    const kept =
      left.length === 0
        ? ""
        : ` ${left.length} paths could not be put back: look at them, and into "${name}" if it is there.`;
    throw Object.assign(error as Error, { kept });
  }
}

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
    await host.at(`${stage}/.`, ({ folder }) => emptyStage(folder, steps, true)).catch(ignoreGone);
  await host.at(stage, (place) => rmdir(place.path)).catch(ignoreGone);
}

function ignoreGone(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT" && error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
}

function unwritable(directory: string, error: unknown): unknown {
  const { code, kept = "" } = error as NodeJS.ErrnoException & { readonly kept?: string };
  if (error instanceof BudgieError || code === undefined) return error;
  return new BudgieError(
    "WORKSPACE_INVALID",
    `Cannot write into "${directory}" (${code}), and what was written is taken back.${kept} Make room or the files writable, then try again.`,
    { cause: error },
  );
}
