import { BudgieError, type Agent } from "@budgie/core";
import { OWN_TOOLS, nameOwnTool } from "./name-own-tool.ts";
import { toSafeName, toToolName } from "./tool-name.ts";
import { type NamingOptions } from "../../config/naming-options.ts";

// The limit of the MCP specification
const LONGEST = 128;

/** Throws `CONFIG_INVALID` for tool names that are too long, or that collide with another agent's or budgie's own for some client. */
export function checkToolNames(agents: readonly Agent[], options: NamingOptions): void {
  if (options.tools === "router") return refuseTwins(agents);
  const own = OWN_TOOLS.map((tool): Named => ({ name: nameOwnTool(tool, options).name, agent: undefined }));
  const named = [...own, ...agents.map((agent): Named => ({ name: toToolName(agent.name, options).name, agent }))];
  for (const reader of READERS) refuseCollision(named, reader);
  for (const tool of named) refuseLong(tool);
}

/** Throws for two agents with the same name, since the router takes agents by name. */
function refuseTwins(agents: readonly Agent[]): void {
  const seen = new Map<string, Agent>();
  for (const agent of agents) {
    const other = seen.get(agent.name);
    if (other !== undefined) {
      throw invalid(`"${other.file}" and "${agent.file}" both are the agent "${agent.name}". Rename one of them.`);
    }
    seen.set(agent.name, agent);
  }
}

type Named = {
  readonly name: string;
  /** `undefined` for budgie's own tools */
  readonly agent: Agent | undefined;
};

/** A client that rewrites tool names: two names that it maps to one collide. */
type Reader = {
  readonly read: (name: string) => string;
  /** The client, for a message; `undefined` if the names are equal without rewriting */
  readonly who: string | undefined;
};

const READERS: readonly Reader[] = [
  { read: (name) => name, who: undefined },
  {
    read: toSafeName,
    who: 'a client that puts "_" for all but letters and digits (such as Gemini CLI or Roo Code, and --tool-names safe)',
  },
  { read: toKiroName, who: 'Kiro, which deletes all but letters, digits and "_",' },
  { read: (name) => toKiroName(name).replaceAll("_", ""), who: "a client that deletes all but letters and digits" },
];

function toKiroName(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9_]/gu, "")
    .replace(/^(?![a-z])/u, "a");
}

function refuseCollision(tools: readonly Named[], { read, who }: Reader): void {
  const seen = new Map<string, Named>();
  for (const tool of tools) {
    const name = read(tool.name);
    const other = seen.get(name);
    // Budgie's own names do not collide, so the later one is an agent's.
    if (other !== undefined && tool.agent !== undefined)
      throw invalid(explainCollision(tool.name, tool.agent, { other, who }));
    seen.set(name, tool);
  }
}

type Collision = { readonly other: Named; readonly who: Reader["who"] };

function explainCollision(name: string, agent: Agent, { other, who }: Collision): string {
  const [mine, own] = [agentText(agent), `budgie's own tool "${other.name}"`];
  if (other.agent === undefined) {
    return who === undefined
      ? `The agent ${mine} would take the name of ${own}. Rename it.`
      : `The agent ${mine} would be the tool "${name}", and ${who} would take it for ${own}. Rename it.`;
  }
  const both = `The agents ${agentText(other.agent)} and ${mine} would`;
  return who === undefined
    ? `${both} both be the tool "${name}". Rename one of them.`
    : `${both} be the tools "${other.name}" and "${name}", and ${who} would not tell them apart. Rename one of them.`;
}

function refuseLong({ agent, name }: Named): void {
  if (name.length <= LONGEST || agent === undefined) return;
  throw invalid(
    `The agent ${agentText(agent)} would be a tool with a name of ${name.length} characters, and MCP allows ${LONGEST}. ` +
      `Rename it, shorten --tool-prefix, or use --tool-names safe.`,
  );
}

function agentText({ file, name }: Agent): string {
  return `"${name}" (${file})`;
}

function invalid(message: string): BudgieError {
  return new BudgieError("CONFIG_INVALID", message);
}
