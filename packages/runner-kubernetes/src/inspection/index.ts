// The public surface of @budgie/runner-kubernetes/inspection: every export is named here, and becomes API.
export type { ClusterFinding } from "./cluster-finding.ts";
export { inspectCluster, type ClusterInspection } from "./inspect-cluster.ts";
