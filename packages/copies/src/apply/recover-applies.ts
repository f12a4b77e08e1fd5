import type { Owner } from "@budgie/core";
import type { ApplyJournal } from "@budgie/store";
import { openHostFolder } from "../host/host-folder.ts";
import type { ChangeSets } from "../sets/change-sets.ts";
import type { ApplyPlan } from "./apply-plan.ts";
import { rollBack } from "./roll-back.ts";
import { removeStage } from "./run-apply.ts";
import { emptyStage } from "./stage-contents.ts";

export type RecoverOptions = { readonly sets: ChangeSets; readonly owner: Pick<Owner, "record" | "stateOf" | "hold"> };

/**
 * Finishes the applies of budgies that died: one that had written everything is cleaned up, and any other is rolled back. Returns one
 * sentence for each. One whose directory is elsewhere now stays.
 */
export async function recoverApplies({ owner, sets }: RecoverOptions): Promise<readonly string[]> {
  const told: string[] = [];
  for (const journal of await sets.archive.journals()) {
    if (journal.owner === undefined || (await owner.stateOf(journal.owner, "state-directory")) !== "dead") continue;
    await owner.hold();
    if (!(await sets.archive.take(journal, owner.record))) continue;
    const line = await recover(journal, sets);
    if (line !== undefined) told.push(line);
  }
  return told;
}

async function recover(journal: ApplyJournal, { archive }: ChangeSets): Promise<string | undefined> {
  const { directory, phase, root } = journal;
  const plan = journal.plan as ApplyPlan;
  const host = await openHostFolder(directory).catch(() => undefined);
  if (host === undefined) return undefined;
  try {
    if (host.identity !== root) return undefined;
    const left = phase === "cleaning" ? [] : await takeBack(host, plan);
    await removeStage(host, plan.stage, phase === "cleaning" ? plan.steps : undefined);
    await archive.end(root);
    if (phase === "cleaning") return undefined;
    const kept = left.length === 0 ? "" : `, but for ${left.length} paths that others wrote meanwhile`;
    return `An apply in "${directory}" that was interrupted is taken back${kept}.`;
  } finally {
    host.close();
  }
}

async function takeBack(
  host: Awaited<ReturnType<typeof openHostFolder>>,
  { stage, steps }: ApplyPlan,
): Promise<readonly string[]> {
  try {
    return await host.at(`${stage}/.`, async ({ folder }) => {
      const left = await rollBack({ host, stage: folder, steps });
      await emptyStage(folder, steps, false);
      return left;
    });
  } catch (error) {
    // Nothing is written before the stage is.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
