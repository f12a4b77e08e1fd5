import type { Cluster } from "./start-cluster.ts";

/** Creates a namespace where Pod security is restricted, and waits until it may have Pods. */
export async function createNamespace({ kubectl }: Pick<Cluster, "kubectl">, name: string): Promise<void> {
  const metadata = { name, labels: { "pod-security.kubernetes.io/enforce": "restricted" } };
  await kubectl(["create", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata }));
  // A controller makes it, and a Pod is refused before.
  await kubectl(["-n", name, "wait", "--for=create", "serviceaccount/default", "--timeout=100s"]);
}
