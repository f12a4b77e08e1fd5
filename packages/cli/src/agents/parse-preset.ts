import { BudgieError } from "@budgie/core";
import { didYouMean } from "../terminal/did-you-mean.ts";
import { AGENT_PRESET_NAMES, type AgentPresetName } from "./agent-presets.ts";

/** Parses the name of a preset. Throws `CONFIG_INVALID` for an unknown one, with the most similar names. */
export function parsePreset(name: string): AgentPresetName {
  const found = AGENT_PRESET_NAMES.find((preset) => preset === name);
  if (found !== undefined) return found;
  const near = didYouMean(name, AGENT_PRESET_NAMES);
  const known = AGENT_PRESET_NAMES.join(", ");
  throw new BudgieError("CONFIG_INVALID", `There is no preset "${name}".${near} Presets: ${known}.`);
}
