import type { Tool as Definition } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { HARMLESS } from "../tools/choose-annotations.ts";
import { toInputSchema, toOutputSchema } from "../tools/to-input-schema.ts";
import { nameOwnTool } from "../names/name-own-tool.ts";
import type { NamingOptions } from "../../config/naming-options.ts";
import { replyOutput, runsOutput } from "../tools/tool-output.ts";

/** A tool for calls that outlive their client's timeout. */
export type LongCallTool = {
  readonly kind: Kind;
  readonly definition: Definition;
  /** Other names that calls may use */
  readonly aliases: readonly string[];
};

// The agent's own tool describes the other fields of an answer.
const shortOutput = replyOutput.pick({
  agent: true,
  code: true,
  message: true,
  response: true,
  runId: true,
  status: true,
});

type Kind = "wait" | "status" | "cancel";

const runId = z
  .string("a text")
  .describe("The runId that the call was answered with while its agent had not finished.");

/** The input of `wait`. */
export const waitInput = z.strictObject({
  runId,
  seconds: z
    .number("a number above 0")
    .positive("a number above 0")
    .optional()
    .describe("How long to wait at most. Leave it out to wait for as long as a call may last."),
});

/** The input of `status`. */
export const statusInput = z.strictObject({
  runId: runId.optional().describe("Of one run. Leave it out for all of yours."),
});

/** The input of `cancel`. */
export const cancelInput = z.strictObject({ runId });

/** Returns the tools `wait`, `status` and `cancel`. */
export function buildLongCallTools(options: NamingOptions): readonly LongCallTool[] {
  function buildTool(kind: Kind, definition: Omit<Definition, "name">): LongCallTool {
    const { aliases, name } = nameOwnTool(kind, options);
    return { kind, aliases, definition: { name, ...definition } };
  }

  return [
    buildTool("wait", {
      title: "Wait for an agent",
      description:
        "Waits for an agent that had not finished when its call was answered, and gives its answer, as the call would have. " +
        "If it has not finished then either, it says so: call it again.",
      inputSchema: toInputSchema(waitInput),
      outputSchema: toOutputSchema(shortOutput),
      annotations: HARMLESS,
    }),
    buildTool("status", {
      title: "Status of agents",
      description:
        "Tells at once where your agents that have not finished are, and whose answers are ready to be collected.",
      inputSchema: toInputSchema(statusInput),
      outputSchema: toOutputSchema(runsOutput),
      annotations: HARMLESS,
    }),
    buildTool("cancel", {
      title: "Stop an agent",
      description:
        "Stops an agent that has not finished, and reports its outcome once nothing of it is running. What it did " +
        "stays done.",
      inputSchema: toInputSchema(cancelInput),
      outputSchema: toOutputSchema(shortOutput),
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    }),
  ];
}
