import { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

// Each notification of progress repeats the client's token.
const LONGEST_TOKEN = 1_000;

/** The schema of `tools/call`. Malformed requests fail with `InvalidParams`, as specified; the SDK would send an internal error. */
export const callRequest = CallToolRequestSchema.extend({
  params: orInvalidParams(
    "tools/call",
    CallToolRequestSchema.shape.params.refine(
      ({ _meta }) => String(_meta?.progressToken ?? "").length <= LONGEST_TOKEN,
      {
        path: ["_meta", "progressToken"],
        message: `longer than ${LONGEST_TOKEN} characters`,
      },
    ),
  ),
});

/** The schema of `tools/list`, with the same error. */
export const listRequest = ListToolsRequestSchema.extend({
  params: orInvalidParams("tools/list", ListToolsRequestSchema.shape.params).optional(),
});

function orInvalidParams<Schema extends z.ZodType>(method: string, schema: Schema) {
  return z.unknown().transform((params): z.output<Schema> => {
    const parsed = schema.safeParse(withoutNulls(params));
    if (parsed.success) return parsed.data;
    const problems = parsed.error.issues.map(({ message, path }) => `${["params", ...path].join(".")}: ${message}`);
    throw invalidParams(`This is not a valid ${method} request: ${problems.join("; ")}.`);
  });
}

/** Removes `null` parameters, which some clients send for omitted ones. */
function withoutNulls(params: unknown): unknown {
  if (typeof params !== "object" || params === null) return params ?? undefined;
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null));
}

/** Returns an `InvalidParams` error. The SDK's own class repeats the code in the message. */
export function invalidParams(message: string): Error {
  return Object.assign(new Error(message), { code: ErrorCode.InvalidParams });
}
