import type { Cluster } from "./start-cluster.ts";

/** Creates a namespace where Pod security is restricted, and waits until it may have Pods. */
export async function createNamespace({ kubectl }: Pick<Cluster, "kubectl">, name: string): Promise<void> {
  await kubectl(["create", "namespace", name]);
  await kubectl(["label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted"]);
  // A controller makes it, and a Pod is refused before.
  await kubectl(["-n", name, "wait", "--for=create", "serviceaccount/default", "--timeout=100s"]);
}
