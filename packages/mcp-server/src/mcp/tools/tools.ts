import type { Tool as Definition } from "@modelcontextprotocol/sdk/types.js";
import type { Agent } from "@budgie/core";
import type { Policies } from "../../config/agent-policies.ts";
import { toAgentTool } from "./agent-tool.ts";
import { byName } from "../names/by-name.ts";
import { toHealthTool } from "./health-tool.ts";
import { toRouterTools } from "./router-tools.ts";
import type { NamingOptions } from "../../config/tool-options.ts";

/** A tool as a client gets it, and what it is for. */
export type Tool = {
  readonly definition: Definition;
  /** Other names that it can be called by */
  readonly aliases: readonly string[];
  readonly purpose: Purpose;
};

type Purpose =
  | { readonly kind: "agent"; readonly agent: Agent }
  | { readonly kind: "health-check" }
  | { readonly kind: "list-agents"; readonly agents: readonly Agent[] }
  | { readonly kind: "invoke-agent" };

export type ToolOptions = NamingOptions & {
  /** Whether descriptions say that answers are untrusted */
  readonly markUntrusted: boolean;
  readonly policies: Policies;
  readonly sandbox: boolean;
  /** Whether calls that name no session may go on with one */
  readonly stickySessions: boolean;
};

/** Makes the tools of these agents and budgie's own, in the order of their names. */
export function toTools(agents: readonly Agent[], options: ToolOptions): readonly Tool[] {
  const { tools: mode } = options;
  const direct =
    mode === "router" ? [] : [...agents.map((agent) => toAgentTool(agent, options)), toHealthTool(options)];
  const routed = mode === "agents" ? [] : toRouterTools(agents, options);
  return [...direct, ...routed].toSorted((a, b) => byName(a.definition, b.definition));
}
