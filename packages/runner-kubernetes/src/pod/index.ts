// The public surface of @budgie/runner-kubernetes/pod: every export is named here, and becomes API.
export { chooseClusterLimits } from "./choose-cluster-limits.ts";
export { choosePodUser } from "./choose-pod-user.ts";
export { findShownPath } from "./find-shown-path.ts";
export type { PodLimits, PodOwner, PodShape } from "./pod-shape.ts";
export { toSandboxPod } from "./to-sandbox-pod.ts";
export { toPodLimits } from "./to-pod-limits.ts";
