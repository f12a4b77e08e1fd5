import type { Tool as Definition } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import type { Agent } from "@budgie/core";
import { toToolDescription } from "./tool-description.ts";
import { agentInput, healthInput } from "./tool-input.ts";
import { HEALTH_CHECK, toToolNames } from "./tool-name.ts";
import { healthOutput, replyOutput } from "./tool-output.ts";

/** A tool, and the agent it stands for; budgie's own stands for none. */
export type Tool = {
  readonly definition: Definition;
  readonly agent: Agent | undefined;
};

/** Makes the tools of these agents and budgie's own, in the order of their names. */
export function toTools(agents: readonly Agent[], prefix: string): readonly Tool[] {
  const tools = [...toToolNames(agents, prefix)].map(([agent, name]) => toAgentTool(agent, name));
  return [...tools, toHealthTool(prefix + HEALTH_CHECK)].toSorted((a, b) =>
    a.definition.name < b.definition.name ? -1 : 1,
  );
}

function toAgentTool(agent: Agent, name: string): Tool {
  const definition = {
    name,
    title: agent.name,
    description: toToolDescription(agent.description),
    inputSchema: toSchema(agentInput, "input"),
    outputSchema: toSchema(replyOutput, "output"),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  };
  return { definition, agent };
}

function toHealthTool(name: string): Tool {
  const definition = {
    name,
    title: "Health check",
    description:
      "How the agents' turns have gone since budgie started: success rates, durations, timeouts and last errors, " +
      "overall and for each agent, and whether they run in a container.",
    inputSchema: toSchema(healthInput, "input"),
    outputSchema: toSchema(healthOutput, "output"),
    annotations: { readOnlyHint: true, openWorldHint: false },
  };
  return { definition, agent: undefined };
}

/** Without `$schema`: these are good in every draft, and some clients refuse those they do not know. */
function toSchema(schema: z.ZodObject, io: "input" | "output"): Definition["inputSchema"] {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io });
  return json as Definition["inputSchema"];
}
