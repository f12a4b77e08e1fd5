import type { Cluster } from "@budgie/runner-kubernetes/api";
import type { ClusterSection } from "@budgie/mcp-server";

/** Connects to the cluster of the configuration, for a command that is not a server. Asks it nothing. */
export async function openCluster({ context, kubeconfig, namespace }: ClusterSection): Promise<Cluster> {
  // Imported late, as few users have a cluster.
  const { connectCluster } = await import("@budgie/runner-kubernetes/api");
  return connectCluster({ context, kubeconfig, namespace });
}
