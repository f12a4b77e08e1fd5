import type { Agent, Policy } from "@budgie/core";
import type { ToolOptions } from "../../src/mcp/tools/tool.ts";

/** An agent as `loadAgents` gives one. */
export function createAgent(name: string, facts: Partial<Agent> = {}): Agent {
  const words = { description: `About ${name}`, whenToUse: "" };
  return {
    name,
    ...words,
    file: `/agents/${name}.json`,
    promptFile: undefined,
    writesFiles: true,
    model: undefined,
    ...facts,
  };
}

/** What an agent may do unless something says less. */
export const POLICY: Policy = { workspace: "rw", egress: { mode: "bridge", hosts: [] }, limits: {}, timeoutMs: 1000 };

/** How tools are made by default. */
export const TOOL_OPTIONS: ToolOptions = {
  toolPrefix: "kiro-subagents.",
  toolNames: "dotted",
  tools: "agents",
  markUntrusted: true,
  policies: { ceiling: POLICY, agents: new Map() },
  sandbox: false,
  stickySessions: false,
};
