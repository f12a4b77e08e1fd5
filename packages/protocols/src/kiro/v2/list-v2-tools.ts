import {
  listServerEntries,
  splitWords,
  type AgentDefinition,
  forbids,
  hasRuleForAll,
  findEffect,
  type Capability,
  listKiroTools,
} from "@budgie/core/agents";
import { matchesGlob } from "@budgie/core/text";

/** Returns the tools that V2 may offer: those of the file without those that it excludes, or whose every use its rules deny. */
export function listV2Tools(definition: AgentDefinition): readonly string[] | undefined {
  // Such a rule is also about tools that no capability names.
  if (hasRuleForAll(definition, ["deny"]) && CAPABILITIES.every((each) => forbids(definition, each))) return [];
  const forbidden = listForbidden(definition);
  const { tools } = definition;
  if (forbidden.length === 0) return tools?.flatMap((tool) => toV2Names(tool, definition));
  const left = (tools ?? ["*"]).flatMap((tool) => subtract(tool, forbidden, definition));
  return [...new Set(left)];
}

/** Returns the tools that V2 may use without asking: those that the file lists or its rules allow, and that no rule restricts. */
export function listV2AllowedTools(definition: AgentDefinition): readonly string[] | undefined {
  const { allowedTools, permissions } = definition;
  if (hasRuleForAll(definition, ["ask", "deny"])) return [];
  if (!permissions) return allowedTools?.flatMap((tool) => toV2Names(tool, definition));
  const by = (effect: "allow" | undefined): readonly string[] =>
    CAPABILITIES.filter((each) => findEffect(definition, each) === effect).flatMap((each) => TOOLS[each]);
  const restricted = CAPABILITIES.filter((each) => ["ask", "deny"].includes(findEffect(definition, each) ?? ""));
  const listed = (allowedTools ?? []).flatMap((tool) =>
    subtract(
      tool,
      restricted.flatMap((each) => TOOLS[each]),
      definition,
    ),
  );
  const allowed = by("allow").flatMap((tool) => (tool === MCP ? listServerTools(definition) : tool));
  return [...new Set([...listed, ...allowed])];
}

const MCP = "@mcp";

// The tags, and the names of V2.
const TOOLS: Readonly<Record<Capability, readonly string[]>> = {
  fs_read: ["read", "fs_read", "grep", "glob"],
  fs_write: ["write", "fs_write"],
  shell: ["shell", "execute_bash"],
  web_fetch: ["web_fetch", "web"],
  web_search: ["web_search", "web"],
  subagent: ["subagent", "use_subagent"],
  mcp: [MCP],
};

const CAPABILITIES = Object.keys(TOOLS) as readonly Capability[];

function listForbidden(definition: AgentDefinition): readonly string[] {
  const { disallowedTools, excludedTools } = definition;
  const excluded = [excludedTools, disallowedTools].flatMap(splitWords);
  const denied = CAPABILITIES.filter((each) => forbids(definition, each)).flatMap((each) => TOOLS[each]);
  // Nobody knows that V2 leaves out one of a tool's names with the other.
  const twins = listKiroTools(excluded, { partly: true }).flatMap((tool) => [tool, ...listTwins(tool)]);
  return [...twins, ...denied];
}

function listTwins(tool: string): readonly string[] {
  const members = V3_MEMBERS[tool] ?? tool;
  return Object.values(TOOLS).flatMap((names) => (names.some((name) => matches(members, name)) ? names : []));
}

// V3's single tools, and the tag of which they are a part.
const V3_MEMBERS: Readonly<Record<string, string>> = {
  code: "read",
  control_bash_process: "shell",
  delete_file: "write",
  file_search: "read",
  grep_search: "read",
  list_directory: "read",
  read_file: "read",
  read_files: "read",
  str_replace: "write",
};

// The tools that a star stands for, as far as a rule can forbid parts of it.
const BUILTIN = ["read", "write", "shell", "web_fetch", "web_search", "subagent", "knowledge"];

/** Returns what is left of a tool or a pattern of tools. */
function subtract(tool: string, forbidden: readonly string[], definition: AgentDefinition): readonly string[] {
  if (tool.startsWith("@") && tool !== "@builtin") {
    const mine = tool === MCP ? listServerTools(definition) : [tool];
    return mine.filter((each) => !forbidden.some((other) => isSameServer(each, other)));
  }
  const isForbidden = (name: string): boolean => forbidden.some((other) => matches(other, name));
  if (!isPattern(tool))
    return isForbidden(tool) ? [] : toV2Names(tool, definition).filter((name) => !isForbidden(name));
  const covered = [...BUILTIN, "fs_read", "fs_write", "execute_bash"].filter((name) => matches(tool, name));
  if (![...forbidden].some((name) => name.startsWith("@") || matches(tool, name) || isPattern(name))) return [tool];
  const servers = tool === "*" ? subtract(MCP, forbidden, definition) : [];
  return [...covered.filter((name) => !isForbidden(name)), ...servers];
}

function isPattern(tool: string): boolean {
  return tool === "@builtin" || /[*?]/.test(tool);
}

function matches(pattern: string, tool: string): boolean {
  return pattern === "@builtin" || matchesGlob(pattern, tool);
}

/** Returns true if two tools of servers may be one: a server's tools are unknown here. */
function isSameServer(one: string, other: string): boolean {
  if (other === MCP || other === "*") return true;
  const [mine = "", theirs = ""] = [one, other].map((tool) => tool.split("/")[0]);
  return matchesGlob(mine, theirs) || matchesGlob(theirs, mine);
}

/** Returns V2's names of a tag that is V3's. */
function toV2Names(tool: string, definition: AgentDefinition): readonly string[] {
  if (tool === MCP) return [MCP, ...listServerTools(definition)];
  return tool === "web" ? ["web", "web_fetch", "web_search"] : [tool];
}

function listServerTools(definition: AgentDefinition): readonly string[] {
  return Object.keys(listServerEntries(definition)).map((name) => `@${name}`);
}
