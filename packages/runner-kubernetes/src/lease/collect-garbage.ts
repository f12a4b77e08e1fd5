import {
  findReasonToKeep,
  isSessionId,
  type GcItem,
  type GcPolicy,
  type GcReport,
  type GcSubject,
  type Owner,
} from "@budgie/core";
import type { OwnerRecord, OwnerState } from "@budgie/core/owners";
import { toDate, type Cluster, type ClusterObject, type Kind } from "../api/index.ts";
import { judgePod } from "../pods/judge-pod.ts";
import { createLeaseJudge, type LeaseJudge } from "./create-lease-judge.ts";
import { ABANDONED_MS } from "./hold-lease.ts";
import { OURS, parseMetadata } from "./to-metadata.ts";

/** The owner that collects, and its rules. */
export type Collecting = {
  readonly owner: Owner;
  readonly policy: GcPolicy;
  /** The judge of other machines' leases, which a budgie that lives long keeps */
  readonly judge?: LeaseJudge;
};

/** Time after which a Pod that does not run by the cluster's word does not run: kubelet may report it late. */
const LATE_MS = 60_000;

/** Removes dead owners' Pods and leases, and keeps those of owners that may be alive. */
export async function collectGarbage(cluster: Cluster, collecting: Collecting): Promise<GcReport> {
  const leases = await cluster.list("leases", OURS);
  const pods = await cluster.list("pods", OURS);
  const report: Report = { removed: [], kept: [], failed: [] };
  const findReason = createRules(leases, collecting);
  const context = { cluster, report, dryRun: collecting.policy.dryRun };
  const left = new Set<string>();
  for (const pod of pods) {
    const lease = findLease(pod, leases);
    const isRemoved = await collect({ kind: "pods", object: pod, why: await findReason(pod, lease) }, context);
    if (!isRemoved && lease !== undefined) left.add(lease.uid);
  }
  for (const lease of leases) {
    // The cluster would remove its Pods too.
    const why = (await findReason(lease, lease)) ?? (left.has(lease.uid) ? "it owns a Pod that is kept" : undefined);
    await collect({ kind: "leases", object: lease, why }, context);
  }
  return report;
}

type Kept = GcItem & { readonly why: string };
type Report = { readonly removed: GcItem[]; readonly kept: Kept[]; readonly failed: Kept[] };
type Rules = (object: ClusterObject, lease: ClusterObject | undefined) => Promise<string | undefined>;

function createRules(
  leases: readonly ClusterObject[],
  { judge = createLeaseJudge(), owner, policy }: Collecting,
): Rules {
  const asked = new Map<string, Promise<OwnerState>>();
  const abandoned = new Set(leases.filter((lease) => judge.isAbandoned(lease)).map(({ uid }) => uid));
  const stateOf = (record: OwnerRecord): Promise<OwnerState> => {
    const key = JSON.stringify(record);
    const state = asked.get(key) ?? owner.stateOf(record);
    asked.set(key, state);
    return state;
  };

  return async (object, lease) => {
    // A budgie that resumed a session has its own lease, and may not have changed the rest.
    const record = parseMetadata(lease ?? object).owner;
    if (record === undefined && policy.force !== true) return "its labels do not say whose it is";
    const renewed = toDate(lease?.spec["renewTime"]).getTime();
    const use = await findUse(object, policy);
    const subject: GcSubject = {
      owner: record === undefined ? "foreign" : await stateOf(record),
      usedMs: Math.max(object.created.getTime(), renewed, use.usedMs),
      keepMs: use.keepMs,
      hasLease: lease !== undefined && !abandoned.has(lease.uid) && Date.now() - renewed < ABANDONED_MS,
    };
    return findReasonToKeep(subject, policy);
  };
}

/** Finds the last use of a session whose Pod still runs: it ends itself soon, and until then another budgie can resume the session there. */
async function findUse(object: ClusterObject, { sessions }: GcPolicy): Promise<Pick<GcSubject, "keepMs" | "usedMs">> {
  const { session } = parseMetadata(object);
  const { state } = judgePod(object);
  const use = isSessionId(session) && state !== "failed" ? await sessions?.(session) : undefined;
  if (use === undefined) return { usedMs: 0 };
  return state === "running" ? use : { ...use, keepMs: Math.min(use.keepMs ?? 0, LATE_MS) };
}

function findLease({ ownerUids }: ClusterObject, leases: readonly ClusterObject[]): ClusterObject | undefined {
  return leases.find(({ uid }) => ownerUids.includes(uid));
}

type Candidate = { readonly kind: Kind; readonly object: ClusterObject; readonly why: string | undefined };
type Context = { readonly cluster: Cluster; readonly report: Report; readonly dryRun: boolean };

/** Removes an object unless there is a reason to keep it; returns true if it is gone, or would be. */
async function collect({ kind, object, why }: Candidate, { cluster, dryRun, report }: Context): Promise<boolean> {
  const { session } = parseMetadata(object);
  const item: GcItem = { kind: kind === "pods" ? "pod" : "lease", name: object.name, session: session || undefined };
  if (why !== undefined) {
    report.kept.push({ ...item, why });
    return false;
  }
  try {
    if (!dryRun) await cluster.remove(kind, object);
    report.removed.push(item);
    return true;
  } catch (error) {
    report.failed.push({ ...item, why: error instanceof Error ? error.message : String(error) });
    return false;
  }
}
