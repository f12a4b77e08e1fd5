import {
  findReasonToKeep,
  formatOption,
  type GcItem,
  type GcPolicy,
  type GcReport,
  type GcSubject,
  type Owner,
} from "@budgie/core";
import type { KeptRecord, KeptRecords } from "./kept-records.ts";

/** The sessions that have Pods; `unknown` if no cluster could be asked. */
export type HeldInPods = ReadonlySet<string | undefined> | "unknown";

type Stores = {
  readonly records: KeptRecords;
  readonly owner: Owner;
  readonly inPods: HeldInPods;
};

type Outcome = GcItem & { readonly result: keyof GcReport; readonly why: string };

/** Removes what is packed of sessions whose owners died, unless it is kept to be resumed. */
export async function collectKept(stores: Stores, policy: GcPolicy): Promise<GcReport> {
  const { corrupt, records } = await stores.records.list();
  const outcomes = await Promise.all(records.map((record) => collectOne(record, stores, policy)));
  const failures = corrupt.map(({ path, session, why }) => ({ kind: "folder" as const, name: path, session, why }));
  return {
    removed: pick(outcomes, "removed").map(({ kind, name, session }) => ({ kind, name, session })),
    kept: pick(outcomes, "kept"),
    failed: [...pick(outcomes, "failed"), ...failures],
  };
}

async function collectOne(record: KeptRecord, { inPods, owner, records }: Stores, policy: GcPolicy): Promise<Outcome> {
  const item = { kind: "folder", name: records.folderOf(record.id), session: record.id } as const;
  const reason = findReasonToKeep(await findSubject(record, owner, policy), policy);
  const why = reason ?? findPodReason(record, inPods, policy);
  if (why !== undefined) return { ...item, result: "kept", why };
  if (policy.dryRun) return { ...item, result: "removed", why: "" };
  try {
    await records.remove(record.id);
    return { ...item, result: "removed", why: "" };
  } catch (error) {
    return { ...item, result: "failed", why: (error as Error).message };
  }
}

function findPodReason(record: KeptRecord, inPods: HeldInPods, { force }: GcPolicy): string | undefined {
  if (inPods !== "unknown") return inPods.has(record.id) ? "it has a Pod that is kept" : undefined;
  if (record.isStale !== true || force === true) return undefined;
  return `it may be in a Pod, and no cluster was asked; it goes when one was, or with ${formatOption("force")}`;
}

async function findSubject(record: KeptRecord, owner: Owner, { sessions }: GcPolicy): Promise<GcSubject> {
  // Nobody can resume what was changed in a Pod, and lost with it.
  const keepMs = record.isStale === true ? undefined : record.keepMs;
  const use = keepMs === undefined ? undefined : await sessions?.(record.id);
  const made = await owner.stateOf(record.owner, "state-directory");
  const has = use === undefined ? made : await owner.stateOf(use.owner, "state-directory");
  return {
    owner: made === "own" || made === "live" ? made : has,
    usedMs: Math.max(use?.usedMs ?? 0, record.created.getTime()),
    keepMs,
  };
}

function pick(outcomes: readonly Outcome[], wanted: keyof GcReport): GcReport["kept"] {
  return outcomes.flatMap(({ result, ...item }) => (result === wanted ? [item] : []));
}
