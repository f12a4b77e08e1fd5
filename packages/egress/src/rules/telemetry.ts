// Part of the proxy's program, which has no libraries and of core only its egress.
import { coversName, type AllowedHost } from "@budgie/core/egress";
import type { PresetName } from "./presets.ts";

/** The hosts to which the programs of presets send only statistics and errors, by preset. They are refused, and no work misses them. */
export const TELEMETRY: Partial<Readonly<Record<PresetName, readonly string[]>>> = {
  codex: ["ab.chatgpt.com"],
  claude: ["http-intake.logs.us5.datadoghq.com", "browser-intake-us5-datadoghq.com", "statsig.anthropic.com"],
  gemini: ["play.googleapis.com"],
  qwen: ["*.rum.aliyuncs.com"],
  copilot: ["copilot-telemetry.githubusercontent.com", "collector.github.com", "default.exp-tas.com"],
};

/** Returns true if a host takes the telemetry of a preset that is on an allow-list. */
export function isTelemetry(hosts: readonly AllowedHost[], host: string): boolean {
  const names = Object.entries(TELEMETRY).flatMap(([name, patterns]) =>
    // A policy's entries also say who named the preset.
    hosts.some(({ from }) => from.split(",")[0] === `preset ${name}`) ? patterns : [],
  );
  return names.some((pattern) => coversName(pattern, host));
}
