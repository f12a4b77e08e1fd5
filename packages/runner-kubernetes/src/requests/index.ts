// The public surface of @budgie/runner-kubernetes/requests: every export is named here, and becomes API.
export { BRIDGE, HOLD_SOCKET, POD } from "./pod-paths.ts";
export type { PodRequest, Volume } from "./pod-request.ts";
export { NOT_RUN, type ProcessEnd, type ProcessOrder } from "./process-order.ts";
