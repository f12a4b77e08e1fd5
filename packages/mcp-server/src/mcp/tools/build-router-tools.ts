import type { Agent } from "@budgie/core";
import { formatSandbox } from "./format-sandbox.ts";
import { HARMLESS, chooseAnnotations } from "./choose-annotations.ts";
import { toInputSchema, toOutputSchema } from "./to-input-schema.ts";
import { nameOwnTool } from "../names/name-own-tool.ts";
import { invokeInput, noInput, stickyInvokeInput, withoutCopies } from "./parse-tool-input.ts";
import { agentsOutput, replyOutput } from "./tool-output.ts";
import { hasCopies } from "../../config/has-copies.ts";
import { findPolicy } from "../../config/settings.ts";
import type { Tool, ToolOptions } from "./tool.ts";
import { untrustedEnding } from "./fit-description.ts";

/** Returns the two tools that stand for all agents: one lists them, one runs any of them. */
export function buildRouterTools(agents: readonly Agent[], options: ToolOptions): readonly Tool[] {
  return [buildListTool(agents, options), buildInvokeTool(agents, options)];
}

function buildListTool(agents: readonly Agent[], options: ToolOptions): Tool {
  const { aliases, name } = nameOwnTool("list_agents", options);
  const description =
    "Lists the agents that invoke_agent can run: their names, what each of them is and can do, and when to use it. Call " +
    "it before you choose one.";
  return {
    definition: {
      name,
      title: "List agents",
      description: description + untrustedEnding("The agents' answers are", options),
      inputSchema: toInputSchema(noInput),
      outputSchema: toOutputSchema(agentsOutput),
      annotations: HARMLESS,
    },
    aliases,
    purpose: {
      kind: "list-agents",
      agents: agents.map((agent) => ({ ...agent, sandbox: formatSandbox(agent, options) })),
    },
  };
}

function buildInvokeTool(agents: readonly Agent[], options: ToolOptions): Tool {
  const { policies, sandbox, stickySessions } = options;
  const { aliases, name } = nameOwnTool("invoke_agent", options);
  const description =
    "Runs an agent that list_agents names. It works on its own in the directory you name and answers once. The last " +
    "text of its result is the server's, with the sessionId to pass to resume the conversation.";
  // Without agents, a later one may have the ceiling as its policy.
  const own = agents.map((agent) => findPolicy(options, agent.name));
  const input = stickySessions ? stickyInvokeInput : invokeInput;
  return {
    definition: {
      name,
      title: "Invoke an agent",
      description: description + untrustedEnding("Its answers are", options),
      inputSchema: toInputSchema(hasCopies(options) ? input : withoutCopies(input)),
      outputSchema: toOutputSchema(replyOutput),
      annotations: chooseAnnotations({
        policies: own.length === 0 ? [policies.ceiling] : own,
        sandbox: sandbox && agents.every(({ remote }) => remote === undefined),
      }),
    },
    aliases,
    purpose: { kind: "invoke-agent" },
  };
}
