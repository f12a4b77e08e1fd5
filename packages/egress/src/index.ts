// The public surface of @budgie/egress: every export is named here, and becomes API.
export {
  parseAllowedHost,
  PRESETS,
  presetHosts,
  type Preset,
  type PresetEntry,
  type PresetName,
} from "./allow-list.ts";
export type { EgressLimits } from "./egress-limits.ts";
export { OTHER_HOSTS } from "./egress-log.ts";
export { createEgressProxy, type EgressDoor, type EgressProxy, type EgressProxyOptions } from "./egress-proxy.ts";
export { loadProxyProgram, type ProxyProgram } from "./load-proxy-program.ts";
export { createRemoteEgressProxy, type ProxyStreams } from "./remote-egress-proxy.ts";
export type { Lookup, ResolvedAddress } from "./resolver.ts";
export type { UpstreamOptions } from "./upstream.ts";
