import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

type JsonSchema = Tool["inputSchema"];

/** What a tool takes, as clients get it. */
export function toInputSchema(schema: z.ZodObject): JsonSchema {
  return toJsonSchema(schema, "input");
}

/**
 * What a tool answers, as clients get it. Nothing is required: the official SDK's client holds errors to the schema too, and
 * gives the model its own complaint instead of what went wrong.
 */
export function toOutputSchema(schema: z.ZodObject): JsonSchema {
  return toJsonSchema(schema.partial(), "output");
}

/** Without `$schema`: these are good in every draft, and some clients refuse those they do not know. */
function toJsonSchema(schema: z.ZodObject, io: "input" | "output"): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io });
  return json as JsonSchema;
}
