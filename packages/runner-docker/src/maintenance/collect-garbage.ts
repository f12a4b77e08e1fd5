import { rmSync } from "node:fs";
import { join } from "node:path";
import type Docker from "dockerode";
import type { GcItem, GcPolicy, GcReport, Owner } from "@budgie/core";
import type { OwnerRecord } from "@budgie/core/owners";
import { socketsFolder } from "@budgie/sandbox/egress";
import { findLabelledThings, type LabelledThing } from "./find-labelled-things.ts";
import { createGarbageRules } from "./garbage-rules.ts";

export type DockerGcPolicy = GcPolicy & {
  /** The folder of the scratch folders and the proxy sockets of this host's owners */
  readonly stateDir: string;
};

/** Removes dead owners' containers, volumes and files in the state directory, and keeps those of owners that may be alive. */
export async function collectGarbage(docker: Docker, owner: Owner, policy: DockerGcPolicy): Promise<GcReport> {
  const report = createReport();
  const things = await findLabelledThings(docker);
  const reasonToKeep = createGarbageRules(things, { owner, policy });
  const left = new Set<string>();
  for (const thing of things) {
    const { facts, item } = thing;
    await collect(thing, { report, why: await reasonToKeep(facts), dryRun: policy.dryRun });
    if (report.removed.at(-1) !== item) left.add(facts.owner.instance);
  }
  if (!policy.dryRun) await clearOwners(things, left, { owner, stateDir: policy.stateDir });
  return report;
}

type Kept = GcItem & { readonly why: string };
type Report = { readonly removed: GcItem[]; readonly kept: Kept[]; readonly failed: Kept[] };

/** Creates an empty report. */
export function createReport(): Report {
  return { removed: [], kept: [], failed: [] };
}

type Verdict = { readonly report: Report; readonly why: string | undefined; readonly dryRun: boolean };

/** Removes a thing unless there is a reason to keep it, and writes the outcome into the report. */
export async function collect(
  { item, remove }: Pick<LabelledThing, "item" | "remove">,
  { dryRun, report, why }: Verdict,
): Promise<void> {
  if (why !== undefined) return void report.kept.push({ ...item, why });
  if (dryRun) return void report.removed.push(item);
  try {
    const inUse = await remove();
    if (inUse === undefined) report.removed.push(item);
    else report.kept.push({ ...item, why: inUse });
  } catch (error) {
    report.failed.push({ ...item, why: error instanceof Error ? error.message : String(error) });
  }
}

type State = { readonly owner: Owner; readonly stateDir: string };

/** Removes the files of dead owners, including those with nothing left on the engine. */
async function clearOwners(
  things: readonly LabelledThing[],
  left: ReadonlySet<string>,
  { owner, stateDir }: State,
): Promise<void> {
  const labelled = things.map(({ facts }) => ({ record: facts.owner, place: "labels" as const }));
  const recorded = owner.listRecords("container").map((record) => ({ record, place: "state-directory" as const }));
  const all = new Map([...labelled, ...recorded].map((one) => [JSON.stringify(one.record), one]));
  const states = [...all.values()].map(async ({ place, record }) => ({
    record,
    // The lock stays as long as anything else does, since after a reboot it proves that the owner is dead.
    isDead: !left.has(record.instance) && (await owner.stateOf(record, place)) === "dead",
  }));
  const owners = await Promise.all(states);
  const inUse = new Set(owners.flatMap(({ isDead, record }) => (isDead ? [] : listFolders(stateDir, record))));
  for (const { isDead, record } of owners) {
    if (!isDead) continue;
    // Anyone with access to the engine can write labels, even with the name of a live owner.
    const folders = listFolders(stateDir, record).filter((folder) => !inUse.has(folder));
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    await owner.clear(record);
  }
}

/** Lists an owner's folders: its proxy sockets, and copies of the login that a killed budgie left. */
function listFolders(stateDir: string, { instance }: OwnerRecord): readonly string[] {
  if (!/^[0-9a-f-]{36}$/.test(instance)) return [];
  return [join(stateDir, "scratch", instance), socketsFolder(stateDir, instance)];
}
