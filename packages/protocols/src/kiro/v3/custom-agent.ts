import { createHash } from "node:crypto";
import type { AgentDefinition } from "@budgie/core/agents";
import { matchesGlob } from "@budgie/core/text";

/** The harness of Kiro that must answer, and the agent that V3 gets with its conversation. */
export type KiroRequest = { readonly harness: "v2" } | { readonly harness: "v3"; readonly agent: CustomAgent };

/** An agent in the form in which V3 takes it from its client. */
export type CustomAgent = {
  /** `budgie-` and a hash of the rest: no file of a repository or user can have it by chance */
  readonly id: string;
  readonly description: string;
  readonly prompt: string;
  readonly tools: "*" | readonly string[];
  readonly model?: string | undefined;
  readonly resources?: unknown;
  readonly permissions: { readonly rules: readonly unknown[] };
};

/**
 * Returns the agent of a definition, with its prompt as text. Without `tools` it has all, as in a file, where V3 would give it none. Its
 * `permissions` stay as they are; without them, the tools of `allowedTools` are allowed.
 */
export function toCustomAgent(definition: AgentDefinition, prompt: string): CustomAgent {
  const { allowedTools = [], description, model, permissions, resources, tools } = definition;
  const agent = {
    description: description ?? "",
    prompt,
    tools: toTools(tools),
    ...(typeof model === "string" && model !== "" ? { model } : {}),
    ...(resources === undefined ? {} : { resources }),
    permissions: permissions ?? { rules: toRules(allowedTools) },
  };
  const hash = createHash("sha256").update(JSON.stringify(agent)).digest("hex").slice(0, 32);
  return { id: `budgie-${hash}`, ...agent };
}

const TAGS: Readonly<Record<string, string>> = { fs_read: "read", fs_write: "write", execute_bash: "shell" };

function toTools(tools: readonly string[] | undefined): CustomAgent["tools"] {
  if (tools === undefined || tools.includes("*")) return "*";
  return [...new Set(tools.map((tool) => TAGS[tool] ?? tool))];
}

type Rule = { readonly capability: string; readonly match?: readonly string[]; readonly effect: "allow" };

// The names of Kiro's own tools by what they do: the older ones, and the tags.
const NAMES: Readonly<Record<string, readonly string[]>> = {
  fs_read: ["fs_read", "read"],
  fs_write: ["fs_write", "write"],
  shell: ["execute_bash", "shell"],
  web_fetch: ["web_fetch", "web"],
  web_search: ["web_search", "web"],
  subagent: ["use_subagent", "subagent"],
};

function toRules(allowed: readonly string[]): readonly Rule[] {
  const own = allowed.filter((pattern) => !pattern.startsWith("@"));
  const isAllowed = (names: readonly string[]): boolean =>
    allowed.includes("@builtin") || names.some((name) => own.some((pattern) => matchesGlob(pattern, name)));
  const builtin = Object.entries(NAMES).filter(([, names]) => isAllowed(names));
  return [
    ...builtin.map(([capability]): Rule => ({ capability, effect: "allow" })),
    ...allowed.flatMap(findServerRule),
  ];
}

/** Returns the rule for the tools of a server, such as `@git/status`. A rule that V3 reads otherwise allows nothing. */
function findServerRule(pattern: string): readonly Rule[] {
  if (pattern === "@mcp") return [{ capability: "mcp", effect: "allow" }];
  const [, server, tool = "*"] = /^@([^/]+)(?:\/(.+))?$/.exec(pattern) ?? [];
  if (server === undefined || server === "builtin") return [];
  return [{ capability: "mcp", match: [`${server}/${tool}`], effect: "allow" }];
}
