import { BudgieError } from "@budgie/core";
import { JSON_BOUNDS, parseCountedJson, type JsonBounds } from "@budgie/core/bounds";

/** An object of unknown content. */
export type Fields = Readonly<Record<string, unknown>>;

/** Returns the fields of an object; none of any other value. */
export function toFields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** Returns the first `most` entries of a list; none of any other value. */
export function toEntries(value: unknown, most: number): readonly Fields[] {
  return Array.isArray(value) ? value.slice(0, most).map(toFields) : [];
}

/** Returns a string that is neither empty nor longer than `longest`; else `undefined`. */
export function parseText(value: unknown, longest: number): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= longest ? value : undefined;
}

/** Parses a server's JSON; `undefined` if the text is not valid. Throws `AGENT_FAILED` if it has too many values. */
export function parseJson(text: string, who: string): unknown {
  return parseCounted(text, who).value;
}

/** Parses JSON as {@link parseJson} does, and counts its values. */
export function parseCounted(
  text: string,
  who: string,
  bounds: JsonBounds = JSON_BOUNDS,
): ReturnType<typeof parseCountedJson> {
  try {
    return parseCountedJson(text, bounds);
  } catch (error) {
    if (!(error instanceof RangeError)) return { value: undefined, values: 0 };
    throw new BudgieError(
      "AGENT_FAILED",
      `The server of ${who} sent JSON of ${error.message}, so budgie stopped reading.`,
    );
  }
}
