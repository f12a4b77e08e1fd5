import { HARMLESS } from "./annotations.ts";
import { toInputSchema, toOutputSchema } from "./json-schema.ts";
import { toOwnToolName } from "../names/own-tool-name.ts";
import { noInput } from "./tool-input.ts";
import type { NamingOptions } from "../../config/tool-options.ts";
import { healthOutput } from "./tool-output.ts";
import type { Tool } from "./tool.ts";

/** Returns the tool that reports the outcomes of turns. */
export function toHealthTool(options: NamingOptions): Tool {
  const { aliases, name } = toOwnToolName("health-check", options);
  return {
    definition: {
      name,
      title: "Health check",
      description:
        "How the agents' turns have gone, restarts of budgie included: success rates, durations, timeouts and last " +
        "errors, overall and for each agent, and whether they run in a container.",
      inputSchema: toInputSchema(noInput),
      outputSchema: toOutputSchema(healthOutput),
      annotations: HARMLESS,
    },
    aliases,
    purpose: { kind: "health-check" },
  };
}
