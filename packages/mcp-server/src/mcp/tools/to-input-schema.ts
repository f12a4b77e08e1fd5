import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

type JsonSchema = Tool["inputSchema"];

/** Returns the JSON schema of a tool's input. */
export const toInputSchema = once((schema) => toJsonSchema(schema, "input"));

/**
 * Returns the JSON schema of a tool's output. No key is required: the official SDK's client also validates errors against the
 * schema, and would replace them by its own error.
 */
export const toOutputSchema = once((schema) => toJsonSchema(schema.partial(), "output"));

/** Caches the schema for all agents: converting it takes longer than loading an agent. */
function once(make: (schema: z.ZodObject) => JsonSchema): typeof make {
  const made = new WeakMap<z.ZodObject, JsonSchema>();
  return (schema) => {
    const known = made.get(schema) ?? make(schema);
    made.set(schema, known);
    return known;
  };
}

/** Omits `$schema`: the schemas are valid in every draft, and some clients refuse drafts that they do not know. */
function toJsonSchema(schema: z.ZodObject, io: "input" | "output"): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, override: removeEmptyAdditionalProperties });
  return json as JsonSchema;
}

/** Removes an empty `additionalProperties`, which only costs bytes and makes the MCP Inspector warn. */
function removeEmptyAdditionalProperties({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  const { additionalProperties: more } = jsonSchema;
  if (typeof more === "object" && Object.keys(more).length === 0) delete jsonSchema.additionalProperties;
}
