// The public surface of @budgie/egress: every export is named here, and becomes API.
export type { EgressDoor, EgressProxy } from "./egress-proxy.ts";
export { parseAllowedHost } from "./parse-allowed-host.ts";
export { PRESETS, presetHosts, type Preset, type PresetEntry, type PresetName } from "./presets.ts";
