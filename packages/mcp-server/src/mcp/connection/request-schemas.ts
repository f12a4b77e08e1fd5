import { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

/** `tools/call`; one that is malformed is refused as the specification has it, for which the SDK has an internal error. */
export const callRequest = CallToolRequestSchema.extend({
  params: orInvalidParams("tools/call", CallToolRequestSchema.shape.params),
});

/** `tools/list`, in the same way. */
export const listRequest = ListToolsRequestSchema.extend({
  params: orInvalidParams("tools/list", ListToolsRequestSchema.shape.params).optional(),
});

function orInvalidParams<Schema extends z.ZodType>(method: string, schema: Schema) {
  return z.unknown().transform((params): z.output<Schema> => {
    const parsed = schema.safeParse(withoutNulls(params));
    if (parsed.success) return parsed.data;
    const problems = parsed.error.issues.map(({ message, path }) => `${["params", ...path].join(".")}: ${message}`);
    throw invalidParams(`This is no ${method} request: ${problems.join("; ")}.`);
  });
}

/** Some clients send null for what they leave out. */
function withoutNulls(params: unknown): unknown {
  if (typeof params !== "object" || params === null) return params ?? undefined;
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null));
}

/** The protocol's error for a request that makes no sense; the SDK's own says its code twice. */
export function invalidParams(message: string): Error {
  return Object.assign(new Error(message), { code: ErrorCode.InvalidParams });
}
