import type { Agent } from "@budgie/core";
import type { Policy } from "@budgie/core/policy";
import type { ToolOptions } from "@budgie/mcp-server/commands";

/** Creates an agent as `loadAgents` returns one. */
export function createAgent(name: string, facts: Partial<Agent> = {}): Agent {
  const words = { description: `About ${name}`, whenToUse: "" };
  return {
    name,
    ...words,
    file: `/agents/${name}.json`,
    promptFile: undefined,
    writesFiles: true,
    model: undefined,
    hasModel: false,
    ...facts,
  };
}

/** The policy of an agent without restrictions. */
export const POLICY: Policy = { workspace: "rw", egress: { mode: "bridge", hosts: [] }, limits: {}, timeoutMs: 1000 };

/** The default options for tools. */
export const TOOL_OPTIONS: ToolOptions = {
  toolPrefix: "kiro-subagents.",
  toolNames: "dotted",
  tools: "agents",
  markUntrusted: true,
  policies: { ceiling: POLICY, agents: new Map() },
  sandbox: false,
  stickySessions: false,
};
