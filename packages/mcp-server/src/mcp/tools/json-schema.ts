import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

type JsonSchema = Tool["inputSchema"];

/** What a tool takes, as clients get it. */
export const toInputSchema = once((schema) => toJsonSchema(schema, "input"));

/**
 * What a tool answers, as clients get it. Nothing is required: the official SDK's client holds errors to the schema too, and
 * gives the model its own complaint instead of what went wrong.
 */
export const toOutputSchema = once((schema) => toJsonSchema(schema.partial(), "output"));

/** One for all of 500 agents: to make it takes longer than to load an agent. */
function once(make: (schema: z.ZodObject) => JsonSchema): typeof make {
  const made = new WeakMap<z.ZodObject, JsonSchema>();
  return (schema) => {
    const known = made.get(schema) ?? make(schema);
    made.set(schema, known);
    return known;
  };
}

/** Without `$schema`: these are good in every draft, and some clients refuse those they do not know. */
function toJsonSchema(schema: z.ZodObject, io: "input" | "output"): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, override: leaveOutWhatGoesWithoutSaying });
  return json as JsonSchema;
}

/** That there may be more keys: it costs every list some bytes, and the MCP Inspector warns of it. */
function leaveOutWhatGoesWithoutSaying({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  const { additionalProperties: more } = jsonSchema;
  if (typeof more === "object" && Object.keys(more).length === 0) delete jsonSchema.additionalProperties;
}
