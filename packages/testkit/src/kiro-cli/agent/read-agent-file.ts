import { existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { resolveFrom } from "../profile/kiro-folder.ts";
import type { Settings } from "../profile/settings.ts";
import { toAgentFields, toText, toTexts, type KiroAgent } from "./kiro-agent.ts";
import { parseRules } from "./rule.ts";

/** The file of an agent: its path, and the name that the path gives it. */
export type AgentFile = Pick<KiroAgent, "origin"> & { readonly file: string; readonly name: string };

/** Reads an agent's file. Resolves to `undefined` for one that the harness passes over; rejects for one that it refuses. */
export async function readAgentFile(
  { file, name, origin }: AgentFile,
  settings: Settings,
): Promise<KiroAgent | undefined> {
  const isV3 = settings.harness === "v3";
  const fields = file.endsWith(".md") ? await readFrontMatter(file) : readJson(file, settings);
  // V3 passes over the JSON files of V2; Markdown without front matter is a prompt.
  if (fields === undefined || (isV3 && file.endsWith(".json") && fields["permissions"] === undefined)) return undefined;
  checkPromptFile(file, fields["prompt"]);
  return {
    ...toAgentFields(fields),
    // In V3, the path is the name.
    name: (isV3 ? undefined : toText(fields["name"])) ?? name,
    origin,
    file,
    allowedTools: toTexts(fields["allowedTools"]),
    rules: isV3 ? parseRules(fields["permissions"]) : [],
    hooks: toHooks(fields["hooks"]),
    includesMcpJson: fields["includeMcpJson"] === true || fields["useLegacyMcpJson"] === true,
  };
}

type Fields = Readonly<Record<string, unknown>>;

async function readFrontMatter(file: string): Promise<Fields | undefined> {
  const [, front] = /^---\r?\n([^]*?)\r?\n---(?:\r?\n|$)/.exec(readFileSync(file, "utf8")) ?? [];
  if (front === undefined) return undefined;
  // Loaded only here, since every start of V2 would wait for it.
  const { parse } = await import("yaml");
  return toFields(parse(front));
}

// Any other key makes Kiro reject the whole file.
const KEYS = new Set(
  `$schema name description prompt mcpServers tools toolAliases allowedTools resources hooks toolsSettings
   useLegacyMcpJson includeMcpJson model welcomeMessage keyboardShortcut`.split(/\s+/),
);
const LATER_KEYS = new Set(["permissions", "excludedTools", "includePowers"]);

function readJson(file: string, { harness, traits }: Settings): Fields {
  const fields = toFields(JSON.parse(readFileSync(file, "utf8")));
  const unknownKey = Object.keys(fields).find((key) => !KEYS.has(key) && !(traits.hasV3 && LATER_KEYS.has(key)));
  if (unknownKey !== undefined) throw new Error(`unknown field \`${unknownKey}\``);
  if (harness === "v2" && typeof fields["tools"] === "string") throw new Error("tools: expected a list");
  return fields;
}

function toFields(value: unknown): Fields {
  if (typeof value !== "object" || value === null) throw new Error("expected an object");
  return value as Fields;
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
  const found = new Map<string, readonly string[]>();
  for (const { action, command = action?.command, trigger = "" } of toHookList(hooks)) {
    const key = trigger.toLowerCase();
    if (command !== undefined) found.set(key, [...(found.get(key) ?? []), command]);
  }
  return found;
}

/** Returns the hooks of a file as a list. */
export function toHookList(hooks: unknown): readonly Hook[] {
  if (Array.isArray(hooks)) return hooks as readonly Hook[];
  const byTrigger = Object.entries((hooks ?? {}) as Readonly<Record<string, readonly Hook[]>>);
  return byTrigger.flatMap(([trigger, each]) => each.map((hook) => ({ ...hook, trigger })));
}
