import { createRequire } from "node:module";
import type Yaml from "yaml";

/** The two parts of a Markdown file with frontmatter. */
export type Frontmatter = {
  /** The text between the two `---` lines, without them */
  readonly yaml: string;
  /** The text below, without the blank lines around it */
  readonly body: string;
};

const BEGIN = /^\uFEFF?---[ \t]*\r?\n/;
const END = /^---[ \t]*\r?$/m;

/** Splits a Markdown file; `undefined` if it has no frontmatter. Throws if that has no end. */
export function splitFrontmatter(text: string): Frontmatter | undefined {
  if (!BEGIN.test(text)) return undefined;
  const rest = text.replace(BEGIN, "");
  const end = rest.search(END);
  if (end < 0) throw new Error('has no end. Add a line "---" after it');
  const body = rest
    .slice(end)
    .replace(END, "")
    .replace(/^(?:[ \t]*\r?\n)+/, "");
  return { yaml: rest.slice(0, end), body: body.trimEnd() };
}

/** Parses the YAML of a frontmatter. Throws an error whose message follows the words "The frontmatter". */
export function parseFrontmatter(yaml: string): unknown {
  refuseDeep(yaml);
  if (yaml.length > LONGEST) throw new Error("is longer than 64 KiB. Shorten it");
  if ((yaml.match(/[,\n]/g)?.length ?? 0) > MOST_KEYS)
    throw new Error("has more than 2,000 lines and commas. Shorten it");
  // Loaded on demand: many agents have no frontmatter, and it would be the largest library loaded at startup.
  const { LineCounter, parseDocument } = createRequire(import.meta.url)("yaml") as typeof Yaml;
  const lineCounter = new LineCounter();
  // The first line stands for the dashes, so that errors count lines as an editor does. Drawing each of many errors would take seconds.
  const parsed = parseDocument(`\n${yaml}`, {
    merge: true,
    prettyErrors: false,
    logLevel: "error",
    lineCounter,
  });
  const [cause] = parsed.errors;
  if (cause !== undefined) {
    const { col, line } = lineCounter.linePos(cause.pos[0]);
    throw new Error(`is not YAML: ${cause.message} at line ${line}, column ${col}`, { cause });
  }
  try {
    return parsed.toJS() as unknown;
  } catch (cause) {
    throw new Error(`is not YAML: ${(cause as Error).message}`, { cause });
  }
}

/** Returns true for the error of a text that is not YAML; other errors protect from what YAML can do. */
export function isSyntaxError(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof Error && error.cause.name === "YAMLParseError";
}

const LONGEST = 64 * 1024;
// The parser compares each key of a map with all others before it: 2,000 take a tenth of a second, 11,000 some seconds.
const MOST_KEYS = 2_000;
// Far more than agents need, and too few to overflow the stack.
const MOST_BRACKETS = 500;
const DEEP_LINE = /^(?: {200}|[ \t]*(?:[-?:][ \t]+){100})/m;

/** Rejects deep nesting before parsing. The parser is recursive, and V8 may abort the process on a stack overflow instead of throwing. */
function refuseDeep(yaml: string): void {
  const brackets = yaml.match(/[[{]/g)?.length ?? 0;
  if (brackets <= MOST_BRACKETS && !DEEP_LINE.test(yaml)) return;
  throw new Error("is nested too deeply");
}
