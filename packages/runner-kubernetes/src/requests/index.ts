// The public surface of @budgie/runner-kubernetes/requests: every export is named here, and becomes API.
export { BRIDGE, HOLD_SOCKET, POD, PROXY_PORT, TRUST, WIRE_SOCKET } from "./pod-paths.ts";
export type { PodRequest, Volume } from "./pod-request.ts";
export type { ProcessEnd, ProcessOrder } from "./process-order.ts";
