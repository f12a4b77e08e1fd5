import { INITIALIZE_BOUNDS, REQUEST_BOUNDS, type JsonBounds } from "./json-bounds.ts";
import { parseCountedJson } from "./parse-bounded-json.ts";

/**
 * Parses a client's message of MCP, or several in a list, and counts its values. Throws as `parseBoundedJson` does, and a `RangeError` for
 * an `initialize` of more than 1,000 values too, and for an id of more than 1,000 characters, which every answer and error repeats.
 */
export function parseRequest(
  json: Uint8Array | string,
  bounds: JsonBounds = REQUEST_BOUNDS,
): ReturnType<typeof parseCountedJson> {
  const parsed = parseCountedJson(json, bounds);
  const messages = [parsed.value].flat();
  const { values: most } = INITIALIZE_BOUNDS;
  if (parsed.values > most && messages.some(isInitialize)) throw new RangeError(`more than ${most} values`);
  if (messages.some(hasLongId)) throw new RangeError(`an id of more than ${LONGEST_ID} characters`);
  return parsed;
}

const LONGEST_ID = 1000;

function hasLongId(message: unknown): boolean {
  const { id } = Object(message) as { readonly id?: unknown };
  return typeof id === "string" && id.length > LONGEST_ID;
}

function isInitialize(message: unknown): boolean {
  return typeof message === "object" && message !== null && "method" in message && message.method === "initialize";
}
