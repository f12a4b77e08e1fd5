import { findReasonToKeep, type GcItem, type GcPolicy, type GcReport, type GcSubject, type Owner } from "@budgie/core";
import { endSessionProcesses } from "../session/end-session-processes.ts";
import { removeTree } from "./remove-tree.ts";
import type { RegisterEntry, HomeRegister } from "../session/session-register.ts";

type Stores = { readonly register: HomeRegister; readonly owner: Owner };

type Outcome = GcItem & { readonly result: keyof GcReport; readonly why: string };

/** Ends the processes of sessions whose owners died, and removes their homes. */
export async function collectGarbage(stores: Stores, policy: GcPolicy): Promise<GcReport> {
  const { entries, corrupt } = await stores.register.list();
  const outcomes = await Promise.all(entries.map((entry) => collectEntry(entry, stores, policy)));
  const failures = corrupt.map(({ path, session, why }) => ({ kind: "folder" as const, name: path, session, why }));
  if (!policy.dryRun) await removeLocks(entries, stores);
  return {
    removed: pick(outcomes, "removed").map(({ kind, name, session }) => ({ kind, name, session })),
    kept: pick(outcomes, "kept"),
    failed: [...pick(outcomes, "failed"), ...failures],
  };
}

async function collectEntry(entry: RegisterEntry, { register, owner }: Stores, policy: GcPolicy): Promise<Outcome> {
  const item = { kind: "folder", name: entry.home, session: entry.id } as const;
  const why = findReasonToKeep(await findSubject(entry, owner, policy), policy);
  if (why !== undefined) return { ...item, result: "kept", why };
  if (policy.dryRun) return { ...item, result: "removed", why: "" };
  try {
    await endSessionProcesses(entry.id);
    await removeTree(entry.home);
    await register.remove(entry.id);
    return { ...item, result: "removed", why: "" };
  } catch (error) {
    return { ...item, result: "failed", why: (error as Error).message };
  }
}

async function findSubject(entry: RegisterEntry, owner: Owner, { sessions }: GcPolicy): Promise<GcSubject> {
  const use = entry.keepMs === undefined ? undefined : await sessions?.(entry.id);
  const made = await owner.stateOf(entry.owner, "state-directory");
  const has = use === undefined ? made : await owner.stateOf(use.owner, "state-directory");
  return {
    owner: made === "own" || made === "live" ? made : has,
    usedMs: Math.max(use?.usedMs ?? 0, entry.created.getTime()),
    keepMs: entry.keepMs,
  };
}

function pick(outcomes: readonly Outcome[], wanted: keyof GcReport): GcReport["kept"] {
  return outcomes.flatMap(({ result, ...item }) => (result === wanted ? [item] : []));
}

/** Removes the locks of dead owners without sessions. */
async function removeLocks(before: readonly RegisterEntry[], { register, owner }: Stores): Promise<void> {
  const { entries: left } = await register.list();
  const inUse = new Set(left.map((entry) => entry.owner.lock));
  const owners = [...before.map((entry) => entry.owner), ...owner.listRecords("none")];
  const candidates = new Map(owners.map((record) => [record.lock, record]));
  for (const [lock, record] of candidates) {
    if (!inUse.has(lock)) await owner.clear(record);
  }
}
