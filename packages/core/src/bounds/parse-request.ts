import { INITIALIZE_BOUNDS, REQUEST_BOUNDS, type JsonBounds } from "./json-bounds.ts";
import { parseCountedJson } from "./parse-bounded-json.ts";

/**
 * Parses a client's message of MCP, or several in a list, and counts its values. Throws as `parseBoundedJson` does, and a `RangeError` for
 * an `initialize` of more than 1,000 values too.
 */
export function parseRequest(
  json: Uint8Array | string,
  bounds: JsonBounds = REQUEST_BOUNDS,
): ReturnType<typeof parseCountedJson> {
  const parsed = parseCountedJson(json, bounds);
  const { values: most } = INITIALIZE_BOUNDS;
  if (parsed.values > most && [parsed.value].flat().some(isInitialize))
    throw new RangeError(`more than ${most} values`);
  return parsed;
}

function isInitialize(message: unknown): boolean {
  return typeof message === "object" && message !== null && "method" in message && message.method === "initialize";
}
