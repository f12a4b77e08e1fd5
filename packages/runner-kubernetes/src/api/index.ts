// The public surface of @budgie/runner-kubernetes/api: every export is named here, and becomes API.
export type {
  Answer,
  Cluster,
  ClusterObject,
  CreateOptions,
  Kind,
  Limits,
  ListedKind,
  Manifest,
  PodChange,
  PodWatch,
  Right,
} from "./cluster.ts";
export { connectCluster, type ClusterOptions } from "./connect-cluster.ts";
export { deletedError, findRefusal } from "./find-refusal.ts";
export { isNamespaceMissing } from "./judge-answer.ts";
export { explainEnd } from "./explain-end.ts";
export { judgePod, type PodState } from "./judge-pod.ts";
export { listContexts, type Contexts } from "./load-access.ts";
export { toDate } from "./parse-object.ts";
