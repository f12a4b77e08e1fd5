import type { Agent } from "@budgie/core";
import { HARMLESS, toAnnotations } from "./annotations.ts";
import { toInputSchema, toOutputSchema } from "./json-schema.ts";
import { toOwnToolName } from "../names/own-tool-name.ts";
import { invokeInput, noInput, stickyInvokeInput } from "./tool-input.ts";
import { agentsOutput, replyOutput } from "./tool-output.ts";
import type { Tool, ToolOptions } from "./tool.ts";
import { toUntrustedEnding } from "./tool-description.ts";

/** Returns the two tools that stand for all agents: one lists them, one runs any of them. */
export function toRouterTools(agents: readonly Agent[], options: ToolOptions): readonly Tool[] {
  return [toListTool(agents, options), toInvokeTool(agents, options)];
}

function toListTool(agents: readonly Agent[], options: ToolOptions): Tool {
  const { aliases, name } = toOwnToolName("list_agents", options);
  const description =
    "Lists the agents that invoke_agent can run: their names, what each of them is and can do, and when to use it. Call " +
    "it before you choose one.";
  return {
    definition: {
      name,
      title: "List agents",
      description: description + toUntrustedEnding("The agents' answers are", options),
      inputSchema: toInputSchema(noInput),
      outputSchema: toOutputSchema(agentsOutput),
      annotations: HARMLESS,
    },
    aliases,
    purpose: { kind: "list-agents", agents },
  };
}

function toInvokeTool(agents: readonly Agent[], options: ToolOptions): Tool {
  const { policies, sandbox, stickySessions } = options;
  const { aliases, name } = toOwnToolName("invoke_agent", options);
  const description =
    "Runs an agent that list_agents names. It works on its own in the directory you name and answers once. The last " +
    "text of its result is the server's, with the sessionId to pass to resume the conversation.";
  // Without agents, a later one may have the ceiling as its policy.
  const own = agents.map((agent) => policies.agents.get(agent.name) ?? policies.ceiling);
  return {
    definition: {
      name,
      title: "Invoke an agent",
      description: description + toUntrustedEnding("Its answers are", options),
      inputSchema: toInputSchema(stickySessions ? stickyInvokeInput : invokeInput),
      outputSchema: toOutputSchema(replyOutput),
      annotations: toAnnotations({
        policies: own.length === 0 ? [policies.ceiling] : own,
        sandbox: sandbox && agents.every(({ remote }) => remote === undefined),
      }),
    },
    aliases,
    purpose: { kind: "invoke-agent" },
  };
}
