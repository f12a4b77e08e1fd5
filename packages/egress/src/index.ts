// The public surface of @budgie/egress: every export is named here, and becomes API.
export {
  parseAllowedHost,
  PRESETS,
  presetHosts,
  type Preset,
  type PresetEntry,
  type PresetName,
} from "./allow-list.ts";
export { createEgressFetch, type EgressFetch } from "./fetch/egress-fetch.ts";
export type { ConnectorOptions } from "./fetch/connector.ts";
export type { EgressLimits } from "./dial/limits.ts";
export { OTHER_HOSTS } from "./proxy/egress-log.ts";
export { createEgressProxy, type EgressProxy, type EgressProxyOptions } from "./proxy/egress-proxy.ts";
export type { SessionProxy } from "./proxy/session-proxy.ts";
export { loadProxyProgram, type ProxyProgram } from "./remote/load-proxy-program.ts";
export { createRemoteEgressProxy, type ProxyStreams } from "./remote/remote-egress-proxy.ts";
export type { Lookup, ResolvedAddress } from "./dial/resolver.ts";
export type { UpstreamOptions } from "./dial/upstream.ts";
