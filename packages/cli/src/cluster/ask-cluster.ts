import { BudgieError } from "@budgie/core";
import type { Cluster } from "@budgie/runner-kubernetes/api";
import type { Host, ServerConfig } from "@budgie/mcp-server";
import { openCluster } from "./open-cluster.ts";

/**
 * Resolves to what a command's work finds on the cluster of the configuration; to `undefined` if that names none. A cluster that cannot be
 * reached is reported, and does not keep the command from other places.
 */
export async function askCluster<Found>(
  { cluster }: Pick<ServerConfig, "cluster">,
  work: (cluster: Cluster) => Promise<Found>,
  { report }: Pick<Host, "report">,
): Promise<Found | undefined> {
  if (cluster === undefined) return undefined;
  try {
    return await work(await openCluster(cluster));
  } catch (error) {
    if (!(error instanceof BudgieError) || error.code !== "RUNNER_UNAVAILABLE") throw error;
    report(`Pods are not looked at. ${error.message}`);
    return undefined;
  }
}
