import { toReasonToKeep, type GcItem, type GcPolicy, type GcReport, type GcSubject, type Owner } from "@budgie/core";
import { endSessionProcesses } from "../session/end-session-processes.ts";
import { removeTree } from "./remove-tree.ts";
import type { LedgerEntry, SessionLedger } from "../session/session-register.ts";

type Place = { readonly ledger: SessionLedger; readonly owner: Owner };

type Outcome = GcItem & { readonly fate: keyof GcReport; readonly why: string };

/** Ends the processes and removes the homes of sessions whose owners died. */
export async function collectGarbage(place: Place, policy: GcPolicy): Promise<GcReport> {
  const { entries, corrupt } = await place.ledger.list();
  const outcomes = await Promise.all(entries.map((entry) => collectEntry(entry, place, policy)));
  const failures = corrupt.map(({ path, session, why }) => ({ kind: "folder" as const, name: path, session, why }));
  if (!policy.dryRun) await removeLocks(entries, place);
  return {
    removed: pick(outcomes, "removed").map(({ kind, name, session }) => ({ kind, name, session })),
    kept: pick(outcomes, "kept"),
    failed: [...pick(outcomes, "failed"), ...failures],
  };
}

async function collectEntry(entry: LedgerEntry, { ledger, owner }: Place, policy: GcPolicy): Promise<Outcome> {
  const item = { kind: "folder", name: entry.home, session: entry.id } as const;
  const why = toReasonToKeep(await toSubject(entry, owner, policy), policy);
  if (why !== undefined) return { ...item, fate: "kept", why };
  if (policy.dryRun) return { ...item, fate: "removed", why: "" };
  try {
    await endSessionProcesses(entry.id);
    await removeTree(entry.home);
    await ledger.remove(entry.id);
    return { ...item, fate: "removed", why: "" };
  } catch (error) {
    return { ...item, fate: "failed", why: (error as Error).message };
  }
}

async function toSubject(entry: LedgerEntry, owner: Owner, { sessions }: GcPolicy): Promise<GcSubject> {
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
  return outcomes.flatMap(({ fate, ...item }) => (fate === wanted ? [item] : []));
}

/** Removes the locks of dead owners who have nothing left, or never had. */
async function removeLocks(before: readonly LedgerEntry[], { ledger, owner }: Place): Promise<void> {
  const { entries: left } = await ledger.list();
  const inUse = new Set(left.map((entry) => entry.owner.lock));
  const holders = [...before.map((entry) => entry.owner), ...owner.listHolders("none")];
  const candidates = new Map(holders.map((record) => [record.lock, record]));
  for (const [lock, record] of candidates) {
    if (!inUse.has(lock)) await owner.clear(record);
  }
}
