import type { Agent } from "@budgie/core";
import { sanitizeText } from "@budgie/core/text";
import { chooseAnnotations } from "./choose-annotations.ts";
import { toInputSchema, toOutputSchema } from "./to-input-schema.ts";
import { formatSandbox } from "./format-sandbox.ts";
import { fitDescription, untrustedEnding } from "./fit-description.ts";
import { agentInput, stickyAgentInput, withoutCopies } from "./parse-tool-input.ts";
import { hasCopies } from "../../config/has-copies.ts";
import { findPolicy } from "../../config/settings.ts";
import { toToolName } from "../names/tool-name.ts";
import { replyOutput } from "./tool-output.ts";
import type { Tool, ToolOptions } from "./tool.ts";

/** Returns the tool of an agent. */
export function buildAgentTool(agent: Agent, options: ToolOptions): Tool {
  const { aliases, name } = toToolName(agent.name, options);
  const said = agent.whenToUse === "" ? agent.description : `${agent.description}\n\n${agent.whenToUse}`;
  const policy = findPolicy(options, agent.name);
  const sandbox = options.sandbox && agent.remote === undefined;
  const inSandbox = formatSandbox(agent, options);
  const ending = (inSandbox === "" ? "" : `\n\n${inSandbox}`) + untrustedEnding("Its answers are", options);
  const input = options.stickySessions ? stickyAgentInput : agentInput;
  return {
    definition: {
      name,
      // A name of invisible characters only would leave an empty title.
      title: sanitizeText(agent.name).trim() || name,
      description: fitDescription(said, ending),
      inputSchema: toInputSchema(hasCopies(options) ? input : withoutCopies(input)),
      outputSchema: toOutputSchema(replyOutput),
      annotations: chooseAnnotations({ policies: [policy], sandbox }),
    },
    aliases,
    purpose: { kind: "agent", agent },
  };
}
