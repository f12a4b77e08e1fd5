import { toEntries, toFields, type Fields } from "../http/fields.ts";

/** The content of a message or an artifact. */
export type Content = {
  readonly text: string;
  /** Its data, as JSON, one object a line */
  readonly json: string;
  /** The number of its files, which budgie does not fetch */
  readonly files: number;
};

const MOST_PARTS = 10_000;

/** Reads the parts of a message or an artifact. */
export function toContent(parts: unknown): Content {
  const all = toEntries(parts, MOST_PARTS);
  // Servers keep the pieces of a growing artifact as its parts.
  const texts = all.flatMap(({ text }) => (typeof text === "string" && text !== "" ? [text] : []));
  return {
    text: texts.join(""),
    json: all.flatMap(toJson).join("\n"),
    files: all.filter(isFile).length,
  };
}

function toJson({ data }: Fields): readonly string[] {
  if (data === undefined || data === null) return [];
  try {
    return [JSON.stringify(data)];
  } catch {
    // Nested too deeply for `JSON.stringify`.
    return [];
  }
}

function isFile({ file, raw, url }: Fields): boolean {
  return Object.keys(toFields(file)).length > 0 || typeof raw === "string" || typeof url === "string";
}
