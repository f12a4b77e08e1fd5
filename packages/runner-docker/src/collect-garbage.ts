import { rmSync } from "node:fs";
import { join } from "node:path";
import type Docker from "dockerode";
import { toReasonToKeep, type GcItem, type GcPolicy, type GcReport, type Owner, type OwnerRecord } from "@budgie/core";
import { withLimit } from "./api-limit.ts";
import { ignoreMissing } from "./docker-errors.ts";
import { toDoorsFolder } from "./host-doors.ts";
import { OURS, parseLabels, type LabelFacts } from "./labels.ts";
import { removeContainer } from "./turn-process.ts";

export type DockerGcPolicy = GcPolicy & {
  /** Holds the scratch folders and the doors of this host's owners */
  readonly stateDir: string;
};

type Candidate = {
  readonly item: GcItem;
  readonly facts: LabelFacts;
  readonly remove: () => Promise<void>;
};

/** Removes the containers, then the volumes, of owners that are dead and of nobody else. */
export async function collectGarbage(docker: Docker, owner: Owner, policy: DockerGcPolicy): Promise<GcReport> {
  const report = { removed: [] as GcItem[], kept: [] as Kept[], failed: [] as Kept[] };
  const dead = new Map<string, OwnerRecord>();
  const judge = createJudge(owner, policy, dead);
  // A volume cannot go before the containers that mention it.
  for (const candidates of [await findContainers(docker), await findVolumes(docker)]) {
    for (const { facts, item, remove } of candidates) {
      const why = await judge(facts);
      if (why !== undefined) report.kept.push({ ...item, why });
      else if (policy.dryRun) report.removed.push(item);
      else await removeInto(report, item, remove);
    }
  }
  if (policy.dryRun) return report;
  for (const record of dead.values()) {
    removeScratch(policy.stateDir, record);
    await owner.clear(record);
  }
  return report;
}

type Kept = GcItem & { readonly why: string };

type Judge = (facts: LabelFacts) => Promise<string | undefined>;

/** Tells why a thing must stay, or `undefined` if it may go; each owner is asked once. */
function createJudge(owner: Owner, policy: GcPolicy, dead: Map<string, OwnerRecord>): Judge {
  const asked = new Map<string, ReturnType<Owner["stateOf"]>>();
  const stateOf = (record: OwnerRecord): ReturnType<Owner["stateOf"]> => {
    const state = asked.get(record.instance) ?? owner.stateOf(record);
    asked.set(record.instance, state);
    return state;
  };
  return async ({ created, owner: record }) => {
    const state = await stateOf(record);
    if (state === "dead") dead.set(record.instance, record);
    return toReasonToKeep(state, created, policy);
  };
}

async function findContainers(docker: Docker): Promise<readonly Candidate[]> {
  const containers = await docker.listContainers({ all: true, filters: OURS, ...withLimit() });
  const candidates = containers.map(({ Id, Labels, Names }): Candidate => {
    const facts = parseLabels(Labels);
    const name = Names[0]?.replace(/^\//, "") ?? Id;
    return {
      item: { kind: "container", name, session: facts.session || undefined },
      facts,
      remove: () => removeContainer(docker.getContainer(Id)),
    };
  });
  // Podman does not remove a holder whose network a turn has joined.
  const rank = ({ facts }: Candidate): number => (facts.role === "holder" ? 1 : 0);
  return candidates.toSorted((a, b) => rank(a) - rank(b));
}

async function findVolumes(docker: Docker): Promise<readonly Candidate[]> {
  const { Volumes } = await docker.listVolumes({ filters: OURS, ...withLimit() });
  return Volumes.map(({ Labels, Name }) => {
    const facts = parseLabels(Labels);
    const remove = (): Promise<void> =>
      docker
        .getVolume(Name)
        .remove(withLimit())
        .then(() => undefined, ignoreMissing);
    return { item: { kind: "volume", name: Name, session: facts.session || undefined }, facts, remove };
  });
}

/** Copies of the login that a killed budgie was just handing over, and its doors. Labels can be written by anyone who reaches the engine. */
function removeScratch(stateDir: string, { instance }: OwnerRecord): void {
  if (!/^[0-9a-f-]{36}$/.test(instance)) return;
  for (const folder of [join(stateDir, "scratch", instance), toDoorsFolder(stateDir, instance)]) {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function removeInto(
  report: { removed: GcItem[]; failed: Kept[] },
  item: GcItem,
  remove: () => Promise<void>,
): Promise<void> {
  try {
    await remove();
    report.removed.push(item);
  } catch (error) {
    report.failed.push({ ...item, why: error instanceof Error ? error.message : String(error) });
  }
}
