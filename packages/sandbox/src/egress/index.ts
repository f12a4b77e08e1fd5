// The public surface of @budgie/sandbox/egress: every export is named here, and becomes API.
export { checkReach, sharesNetwork } from "./check-reach.ts";
export { createGuardedProxy, type GuardedProxy, type ProxiedNetwork } from "./guarded-proxy.ts";
export { createIdleContainers, type IdleContainers } from "./idle-containers.ts";
export { createProxyFolder, socketsFolder, type FolderSocket, type ProxyFolder } from "./proxy-folder.ts";
export type { OwnForwarder, ProxySocket, ProxySockets } from "./proxy-socket.ts";
export { createSessionEgress, type ProcessNetwork } from "./session-egress.ts";
