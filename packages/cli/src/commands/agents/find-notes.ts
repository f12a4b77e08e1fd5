import { existsSync } from "node:fs";
import type { Agent } from "@budgie/core";
import type { AgentDefinition, ParsedAgentFile } from "@budgie/core/agents";
import { joinNames } from "./join-names.ts";
import { findToolNotes } from "./find-tool-notes.ts";

type NotedFile = { readonly path: string };

/** Returns a sentence for each part of an agent file that is missing, ignored, or read otherwise by Kiro. */
export function findNotes(parsed: ParsedAgentFile, { path }: NotedFile, agent: Agent | undefined): readonly string[] {
  const { definition, format } = parsed;
  return [
    ...findTextNotes(parsed),
    ...findNameNotes(definition.name, path),
    ...findPromptNotes(parsed, agent?.promptFile),
    ...findModelNotes(parsed),
    ...findToolNotes(parsed),
    ...(format === "markdown" ? findKeyNotes(definition) : []),
    ...findServerNotes(definition),
  ];
}

function findTextNotes({ definition, isLenient }: ParsedAgentFile): readonly string[] {
  const isLossy = JSON.stringify(definition).includes("\uFFFD");
  return [
    ...(isLenient
      ? ["Its frontmatter is not YAML, and was read line by line. Kiro may refuse it: quote its texts."]
      : []),
    ...(isLossy ? ["Some of it is not UTF-8, and was replaced."] : []),
  ];
}

// Kiro has agents of its own with these names.
const RESERVED: ReadonlySet<string> = new Set([
  "autonomous",
  "bug-fix",
  "default",
  "plan",
  "quick-spec",
  "spec",
  "vibe",
]);

function findNameNotes(name: string, path: string): readonly string[] {
  return [
    ...(name === path ? [] : [`Kiro 3 names it "${path}", after its path.`]),
    ...(RESERVED.has(name) ? [`Kiro keeps the name "${name}" for an agent of its own, and may refuse this one.`] : []),
  ];
}

function findPromptNotes({ definition, fields, format }: ParsedAgentFile, file: string | undefined): readonly string[] {
  const { prompt } = definition;
  const isReplaced = format === "markdown" && typeof fields["prompt"] === "string" && fields["prompt"] !== prompt;
  return [
    ...(prompt ? [] : ["It has no prompt."]),
    ...(isReplaced ? ['The text below its frontmatter replaces its "prompt".'] : []),
    ...(file === undefined || existsSync(file) ? [] : [`Its prompt ${JSON.stringify(prompt)} is not there.`]),
  ];
}

// Claude Code's short names.
const SHORT: ReadonlySet<unknown> = new Set(["haiku", "opus", "sonnet"]);

function findModelNotes({ definition, fields }: ParsedAgentFile): readonly string[] {
  const { model } = definition;
  return [
    ...(fields["model"] === "inherit" ? ['Its model "inherit" means budgie\'s own.'] : []),
    ...(SHORT.has(model) ? [`Kiro may not know the model "${String(model)}".`] : []),
  ];
}

const KNOWN_KEYS: ReadonlySet<string> = new Set(
  `$schema allowedTools description disallowedTools excludedTools hooks includeMcpJson includePowers keyboardShortcut mcpServers
   model name permissions prompt resources toolAliases tools toolsSettings useLegacyMcpJson welcomeMessage`.split(
    /\s+/,
  ),
);

function findKeyNotes(definition: AgentDefinition): readonly string[] {
  const unknown = Object.keys(definition).filter((key) => !KNOWN_KEYS.has(key));
  return [
    ...(unknown.length === 0 ? [] : [`Ignored: ${joinNames(unknown)}.`]),
    ...(definition["includePowers"] === true ? ["Kiro's V2 harness has no powers."] : []),
  ];
}

function findServerNotes({ mcpServers }: AgentDefinition): readonly string[] {
  if (!Array.isArray(mcpServers)) return [];
  return ["Its mcpServers are only names, which Kiro does not take: an object defines servers."];
}
