// The part of @budgie/egress that reads allow-lists, for who need not load a proxy.
export { parseAllowedHost } from "./parse-allowed-host.ts";
export { PRESETS, presetHosts, type Preset, type PresetEntry, type PresetName } from "./presets.ts";
