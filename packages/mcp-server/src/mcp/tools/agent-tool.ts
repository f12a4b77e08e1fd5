import { sanitizeText, type Agent } from "@budgie/core";
import { toAnnotations } from "./annotations.ts";
import { toInputSchema, toOutputSchema } from "./json-schema.ts";
import { toToolDescription, toUntrustedEnding } from "./tool-description.ts";
import { agentInput, stickyAgentInput } from "./tool-input.ts";
import { toToolName } from "../names/tool-name.ts";
import { replyOutput } from "./tool-output.ts";
import type { Tool, ToolOptions } from "./tool.ts";

/** Returns the tool of an agent. */
export function toAgentTool(agent: Agent, options: ToolOptions): Tool {
  const { ceiling, agents: policies } = options.policies;
  const { aliases, name } = toToolName(agent.name, options);
  const said = agent.whenToUse === "" ? agent.description : `${agent.description}\n\n${agent.whenToUse}`;
  return {
    definition: {
      name,
      // A name of invisible characters only would leave an empty title.
      title: sanitizeText(agent.name).trim() || name,
      description: toToolDescription(said, toUntrustedEnding("Its answers are", options)),
      inputSchema: toInputSchema(options.stickySessions ? stickyAgentInput : agentInput),
      outputSchema: toOutputSchema(replyOutput),
      annotations: toAnnotations({
        policies: [policies.get(agent.name) ?? ceiling],
        sandbox: options.sandbox && agent.remote === undefined,
      }),
    },
    aliases,
    purpose: { kind: "agent", agent },
  };
}
