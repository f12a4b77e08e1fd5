/** An object of unknown content. */
export type Fields = Readonly<Record<string, unknown>>;

/** Returns a value's fields; none if it is no object. */
export function toFields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** Returns the first entries of a list; none if it is no list. */
export function toEntries(value: unknown, most: number): readonly Fields[] {
  return Array.isArray(value) ? value.slice(0, most).map(toFields) : [];
}

/** Returns a text if it is one, is not empty, and is no longer than that. */
export function toText(value: unknown, longest: number): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= longest ? value : undefined;
}

/** Parses JSON; `undefined` if it is none. */
export function parsePlain(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
