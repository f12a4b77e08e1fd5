import type { KiroAgent } from "../agent/kiro-agent.ts";
import type { McpServers } from "../agent/mcp-servers.ts";
import type { Conversation } from "../state/conversation.ts";
import type { Output } from "../output/output.ts";
import type { Settings } from "../profile/settings.ts";
import type { ToolPolicy } from "../agent/decide-tool.ts";

/** The input of the scripted model. */
export type Turn = {
  readonly prompt: string;
  readonly agent: KiroAgent;
  readonly model: string;
  readonly policy: Omit<ToolPolicy, "agent">;
  readonly conversation: Conversation;
  readonly settings: Settings;
  readonly output: Output;
  /** The MCP servers that it can call */
  readonly connections: McpServers["connections"];
  readonly save: (answer: string) => void;
};
