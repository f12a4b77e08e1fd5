import { HARMLESS } from "./choose-annotations.ts";
import { toInputSchema, toOutputSchema } from "./to-input-schema.ts";
import { nameOwnTool } from "../names/name-own-tool.ts";
import { noInput } from "./parse-tool-input.ts";
import type { NamingOptions } from "../../config/naming-options.ts";
import { healthOutput } from "./tool-output.ts";
import type { Tool } from "./tool.ts";

/** Returns the tool that reports the outcomes of turns. */
export function buildHealthTool(options: NamingOptions): Tool {
  const { aliases, name } = nameOwnTool("health-check", options);
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
