// The part of @budgie/egress that reads allow-lists, for callers that do not need to load the proxy.
export {
  isUnverified,
  listAllowedHosts,
  listHosts,
  listSectionHosts,
  withoutKirosNeed,
  type HostWishes,
} from "./rules/list-allowed-hosts.ts";
export { parseAllowedHost } from "./rules/parse-allowed-host.ts";
export {
  findPreset,
  PRESET_NAMES,
  PRESETS,
  presetHosts,
  type Preset,
  type PresetEntry,
  type PresetName,
} from "./rules/presets.ts";
