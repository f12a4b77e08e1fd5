// The public surface of @budgie/runner-kubernetes: every export is named here, and becomes API.
export { createKubernetesRunner } from "./kubernetes-runner.ts";
export type { KubernetesRunnerOptions } from "./turn/kubernetes-runner-options.ts";
