import { existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { resolveFrom } from "../profile/paths.ts";
import type { Settings } from "../profile/settings.ts";
import { toAgentFields, toText, toTexts, type KiroAgent } from "./kiro-agent.ts";
import { parseRules } from "./rules.ts";

// Any other key makes Kiro reject the whole file.
const KEYS = new Set(
  `$schema name description prompt mcpServers tools toolAliases allowedTools resources hooks toolsSettings
   useLegacyMcpJson includeMcpJson model welcomeMessage keyboardShortcut`.split(/\s+/),
);
const LATER_KEYS = new Set(["permissions", "excludedTools", "includePowers"]);

/** The file of an agent: its path, and the name that the path gives it. */
export type AgentFile = Pick<KiroAgent, "origin"> & { readonly file: string; readonly name: string };

/** Reads an agent's file. Returns `undefined` for one that the harness passes over; throws for one that it refuses. */
export function readAgentFile({ file, name, origin }: AgentFile, settings: Settings): KiroAgent | undefined {
  const fields = readFields(file, settings);
  // V3 passes over the files of V2.
  if (settings.harness === "v3" && fields["permissions"] === undefined) return undefined;
  checkPromptFile(file, fields["prompt"]);
  return {
    ...toAgentFields(fields),
    name: toText(fields["name"]) ?? name,
    origin,
    file,
    allowedTools: toTexts(fields["allowedTools"]),
    rules: settings.harness === "v3" ? parseRules(fields["permissions"]) : [],
    hooks: toHooks(fields["hooks"]),
    includesMcpJson: fields["includeMcpJson"] === true || fields["useLegacyMcpJson"] === true,
  };
}

function readFields(file: string, { profile }: Settings): Readonly<Record<string, unknown>> {
  const json: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (typeof json !== "object" || json === null) throw new Error("expected a JSON object");
  const isLate = profile === "v2late" || profile === "v3";
  const unknownKey = Object.keys(json).find((key) => !KEYS.has(key) && !(isLate && LATER_KEYS.has(key)));
  if (unknownKey !== undefined) throw new Error(`unknown field \`${unknownKey}\``);
  return json as Readonly<Record<string, unknown>>;
}

function checkPromptFile(file: string, prompt: unknown): void {
  if (typeof prompt !== "string" || !prompt.startsWith("file://")) return;
  const target = prompt.startsWith("file:///") ? fileURLToPath(prompt) : prompt.slice("file://".length);
  const path = resolveFrom(dirname(file), target);
  if (!existsSync(path)) throw new Error(`File URI not found: ${prompt} (resolved to ${path})`);
}

type Hook = {
  readonly trigger?: string;
  readonly command?: string;
  readonly action?: { readonly command?: string };
};

/** Returns the hooks' commands: an object of lists by trigger, or the list that an upgrade makes of it. */
function toHooks(hooks: unknown): KiroAgent["hooks"] {
  const list: readonly Hook[] = Array.isArray(hooks)
    ? (hooks as readonly Hook[])
    : Object.entries((hooks ?? {}) as Readonly<Record<string, readonly Hook[]>>).flatMap(([trigger, each]) =>
        each.map((hook) => ({ ...hook, trigger })),
      );
  const found = new Map<string, readonly string[]>();
  for (const { action, command = action?.command, trigger = "" } of list) {
    const key = trigger.toLowerCase();
    if (command !== undefined) found.set(key, [...(found.get(key) ?? []), command]);
  }
  return found;
}
