import type { GcPolicy, GcReport, Owner } from "@budgie/core";
import type { Cluster } from "../api/index.ts";
import { createKeptSessions } from "../keeping/create-kept-sessions.ts";
import { collectGarbage } from "../lease/index.ts";

export type KubernetesCollecting = {
  readonly owner: Owner;
  readonly stateDir: string;
  /** `undefined` if none is known, or reachable */
  readonly cluster: Cluster | undefined;
  readonly policy: GcPolicy;
};

/** Removes dead owners' Pods, leases, and sessions in the state folder. */
export async function collectKubernetesGarbage(collecting: KubernetesCollecting): Promise<GcReport> {
  const { cluster, owner, policy, stateDir } = collecting;
  const ofCluster = cluster === undefined ? [] : [await collectGarbage(cluster, { owner, policy })];
  // Without its record, nobody could resume a session in its Pod.
  const inPods =
    cluster === undefined ? "unknown" : new Set(ofCluster.flatMap(({ kept }) => kept.map(({ session }) => session)));
  const reports = [...ofCluster, await createKeptSessions({ owner, stateDir }).collectGarbage(policy, inPods)];
  return {
    removed: reports.flatMap(({ removed }) => removed),
    kept: reports.flatMap(({ kept }) => kept),
    failed: reports.flatMap(({ failed }) => failed),
  };
}
