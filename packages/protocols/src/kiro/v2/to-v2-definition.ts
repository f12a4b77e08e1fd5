import { BudgieError } from "@budgie/core";
import type { AgentDefinition } from "@budgie/core/agents";
import { listV2AllowedTools, listV2Tools } from "./list-v2-tools.ts";
import { toV2Hooks } from "./v2-hooks.ts";
import { findV2Obstacle } from "./find-v2-obstacle.ts";

/** An agent as a JSON file of Kiro's V2 harness has it. */
export type V2Definition = Readonly<Record<string, unknown>>;

/**
 * Returns an agent in the form that V2 reads: its tools without those that its file forbids, its hooks by trigger. It
 * may do no more than its file says, and less where V2 lacks the words. Throws `AGENT_NOT_FOUND` for a guard that V2 would not run.
 */
export function toV2Definition(definition: AgentDefinition, file: string): V2Definition {
  const { hooks, name } = definition;
  const obstacle = findV2Obstacle(definition);
  if (obstacle !== undefined) {
    const message = `The agent "${name}" (${file}) cannot run on Kiro's V2 harness: ${obstacle}. Correct its hooks.`;
    throw new BudgieError("AGENT_NOT_FOUND", message);
  }
  const entries = Object.entries(definition).filter(([key, value]) => isKnown(key, file) && !isServerList(key, value));
  return {
    ...Object.fromEntries(entries),
    ...withValue("tools", listV2Tools(definition)),
    ...withValue("allowedTools", listV2AllowedTools(definition)),
    ...withValue("hooks", hooks === undefined || hooks === null ? hooks : toV2Hooks(hooks)),
  };
}

function withValue(key: string, value: unknown): Readonly<Record<string, unknown>> {
  return value === undefined ? {} : { [key]: value };
}

// V2 refuses a file with any other key.
const V2_KEYS: ReadonlySet<string> = new Set(
  `$schema description includeMcpJson keyboardShortcut mcpServers model name prompt resources toolAliases toolsSettings
   useLegacyMcpJson welcomeMessage`.split(/\s+/),
);

// The tools that they forbid are taken away.
const V3_KEYS: ReadonlySet<string> = new Set(["disallowedTools", "excludedTools", "includePowers", "permissions"]);

/** Returns true if V2 may get a key. Those of JSON files that budgie does not know may be of a later V2. */
function isKnown(key: string, file: string): boolean {
  return file.endsWith(".json") ? !V3_KEYS.has(key) : V2_KEYS.has(key);
}

/** Claude Code's form: names of servers that are defined elsewhere. */
function isServerList(key: string, value: unknown): boolean {
  return key === "mcpServers" && Array.isArray(value);
}
