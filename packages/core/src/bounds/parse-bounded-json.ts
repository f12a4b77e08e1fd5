import { JSON_BOUNDS, type JsonBounds } from "./json-bounds.ts";
import { createJsonScan } from "./json-scan.ts";

/**
 * Parses JSON of another party, unless it exceeds the bounds. Throws a `RangeError` that names the bound, as in "more than 50000 values",
 * and a `SyntaxError` for what is not JSON. The caller bounds the length.
 */
export function parseBoundedJson(json: Uint8Array | string, bounds: JsonBounds = JSON_BOUNDS): unknown {
  return parseCountedJson(json, bounds).value;
}

/** Parses JSON as {@link parseBoundedJson} does, and counts its values. */
export function parseCountedJson(
  json: Uint8Array | string,
  bounds: JsonBounds = JSON_BOUNDS,
): { readonly value: unknown; readonly values: number } {
  const bytes = toBuffer(json);
  const values = createJsonScan(bounds)(bytes);
  return { value: JSON.parse(typeof json === "string" ? json : bytes.toString("utf8")), values };
}

function toBuffer(json: Uint8Array | string): Buffer {
  return typeof json === "string" ? Buffer.from(json) : Buffer.from(json.buffer, json.byteOffset, json.length);
}
