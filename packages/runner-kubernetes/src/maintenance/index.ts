// The public surface of @budgie/runner-kubernetes/maintenance: every export is named here, and becomes API.
export { collectKubernetesGarbage, type KubernetesCollecting } from "./collect-kubernetes-garbage.ts";
export { openKubernetesHomes, type KubernetesHomesOptions } from "./open-kubernetes-homes.ts";
