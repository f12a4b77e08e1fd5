// The public surface of @budgie/runner-kubernetes/egress: every export is named here, and becomes API.
export { createPodEgress } from "./pod-egress.ts";
export { readTrust, sendTrust, type Trust } from "./trust.ts";
export { toPodVariables } from "./to-pod-variables.ts";
