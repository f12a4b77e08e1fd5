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
export function toText(value: unknown, longest: number): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= longest ? value : undefined;
}

/** Parses JSON; `undefined` if the text is not valid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
