import type { ToolMode } from "../../config/tool-options.ts";

/** Returns the server's instructions: a description of all tools, for a client's model. */
export function toInstructions(mode: ToolMode): string {
  return `${BEGINNINGS[mode]} An agent works on its own in the directory you name and answers once. It knows nothing of your conversation: put all it needs in the prompt. The last text of a result is the server's, not the agent's: it has warnings, and the sessionId to pass to resume the conversation.`;
}

const BEGINNINGS: Readonly<Record<ToolMode, string>> = {
  agents: "Each tool is an agent.",
  router: "list_agents names the agents, and invoke_agent runs one of them.",
  both: "Each tool is an agent; list_agents names them all, and invoke_agent runs any of them.",
};
