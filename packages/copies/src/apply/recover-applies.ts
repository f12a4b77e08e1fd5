import type { Owner } from "@budgie/core";
import type { ApplyJournal } from "@budgie/store";
import { openHostFolder, type HostFolder } from "../host/host-folder.ts";
import { readHostEntry } from "../host/read-host-entry.ts";
import type { Side } from "../sets/change-set.ts";
import type { ChangeSets } from "../sets/change-sets.ts";
import { isSide } from "../sets/is-side.ts";
import type { ApplyPlan, Step } from "./apply-plan.ts";
import { rollBack } from "./roll-back.ts";
import { removeStage } from "./run-apply.ts";
import { isRunning, whileRunning } from "./while-running.ts";
import { emptyStage } from "./stage-contents.ts";

export type RecoverOptions = { readonly sets: ChangeSets; readonly owner: Pick<Owner, "record" | "stateOf" | "hold"> };

/**
 * Finishes the applies of budgies that died, and those of this one that failed on their way back: one that had written everything is cleaned
 * up, and any other is rolled back. Returns one sentence for each, also for those that have to be tried again. One whose directory is
 * elsewhere now stays.
 */
export async function recoverApplies({ owner, sets }: RecoverOptions): Promise<readonly string[]> {
  const told: string[] = [];
  for (const journal of await sets.archive.journals()) {
    const { stage } = journal.plan as ApplyPlan;
    if (isRunning({ owner, stage }) || !(await isGivenUp(journal, owner))) continue;
    await owner.hold();
    // Another call of this budgie may have begun meanwhile.
    if (isRunning({ owner, stage })) continue;
    const line = await whileRunning({ owner, stage }, async () => {
      if (!(await sets.archive.take(journal, owner.record))) return undefined;
      return recover(journal, sets).catch((error: unknown) => tellFailure(journal, error));
    });
    if (line !== undefined) told.push(line);
  }
  return told;
}

async function isGivenUp({ owner: of }: ApplyJournal, owner: RecoverOptions["owner"]): Promise<boolean> {
  if (of === undefined) return false;
  return of.instance === owner.record.instance || (await owner.stateOf(of, "state-directory")) === "dead";
}

function tellFailure({ directory }: ApplyJournal, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return `An apply in "${directory}" was interrupted and cannot be taken back yet (${code ?? message}). budgie tries again with its next call.`;
}

async function recover(journal: ApplyJournal, { archive }: ChangeSets): Promise<string | undefined> {
  const { directory, phase, root } = journal;
  const plan = journal.plan as ApplyPlan;
  const host = await openHostFolder(directory).catch(() => undefined);
  if (host === undefined) return undefined;
  try {
    if (host.identity !== root) return undefined;
    const { left, why } = phase === "cleaning" ? NOTHING : await takeBack(host, plan);
    await removeStage(host, plan.stage, phase === "cleaning" ? plan.steps : undefined);
    await archive.end(root);
    if (phase === "cleaning") return undefined;
    const named = left.slice(0, MOST_NAMED).join(", ");
    const kept = left.length === 0 ? "" : `, but for ${left.length} paths ${why}: ${named}`;
    return `An apply in "${directory}" that was interrupted is taken back${kept}.`;
  } finally {
    host.close();
  }
}

const MOST_NAMED = 20;

/** The paths that are not as they were, and the reason. */
type Left = { readonly left: readonly string[]; readonly why: string };

const NOTHING: Left = { left: [], why: "" };

async function takeBack(host: HostFolder, { stage, steps }: ApplyPlan): Promise<Left> {
  try {
    return await host.at(`${stage}/.`, async ({ folder }) => {
      const left = await rollBack({ host, stage: folder, name: stage, steps });
      await emptyStage({ calls: host.calls, stage: folder }, steps, false);
      return { left, why: "that others wrote meanwhile" };
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    // Nothing is written before the stage is made, but someone may have removed it since.
    return { left: await listChanged(host, steps), why: `whose old content went with the folder "${stage}"` };
  }
}

/** Lists the paths of steps that are not as they were before. */
async function listChanged(host: HostFolder, steps: readonly Step[]): Promise<readonly string[]> {
  const before = new Map<string, Side | undefined>();
  for (const step of steps) {
    const old = step.op === "rmdir" ? FOLDER : "before" in step ? step.before : undefined;
    if (!before.has(step.path)) before.set(step.path, old);
  }
  const changed: string[] = [];
  for (const [path, side] of before) {
    const read = host.at(path, (place) => readHostEntry(place.path, () => true, host.calls));
    if (!isSide(side, await read.catch(() => MISSING))) changed.push(path);
  }
  return changed;
}

const FOLDER = { kind: "folder" } as const;
const MISSING = { kind: "missing" } as const;
