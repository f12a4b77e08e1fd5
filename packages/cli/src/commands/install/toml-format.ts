import { parse, stringify, TomlError } from "smol-toml";
import { isEntry, findEol, type ConfigFormat, type Entry } from "./config-format.ts";

/**
 * The editor for TOML. No library edits TOML 1.0 in place, so budgie edits whole lines of the server's own tables; the caller
 * compares the parsed content before and after.
 */
export const tomlFormat: ConfigFormat = {
  parse(text) {
    try {
      return parse(text, { integersAsBigInt: "asNeeded" });
    } catch (cause) {
      if (!(cause instanceof TomlError)) throw cause;
      // The rest of the message quotes the lines, which may contain secrets.
      throw new Error(`${cause.message.split("\n")[0]} in line ${cause.line}, column ${cause.column}`, { cause });
    }
  },
  put(text, path, entry) {
    const table = findTables(text).find((other) => isSame(other.path, path));
    if (table === undefined) return append(text, [`[${path.join(".")}]`, ...formatLines(entry)]);
    const lines = text.split("\n");
    const own = Object.entries(entry).reduce(setKey, lines.slice(table.start, table.end).map(trimReturn));
    return join([...lines.slice(0, table.start), ...withReturns(own, text), ...lines.slice(table.end)]);
  },
  remove(text, path) {
    const lines = text.split("\n");
    const own = findTables(text).filter((table) => isSame(table.path.slice(0, path.length), path));
    for (const { end, start } of own.toReversed()) {
      const isParted = start > 0 && lines[start - 1]?.trim() === "";
      lines.splice(isParted ? start - 1 : start, end - start + (isParted ? 1 : 0));
    }
    return join(lines);
  },
  mask(text, path, shown) {
    const own = findTables(text).filter((table) => isSame(table.path, path));
    const isOwn = (index: number): boolean => own.some(({ end, start }) => start <= index && index < end);
    const isKept = createLineFilter(shown);
    return text
      .split("\n")
      .map((line, index) => (isOwn(index) && isKept(line) ? line : maskLine(line)))
      .join("\n");
  },
};

type Table = {
  readonly path: readonly string[];
  /** The index of the header line */
  readonly start: number;
  /** The index after the last line with content */
  readonly end: number;
};

function findTables(text: string): readonly Table[] {
  const lines = text.split("\n");
  const headers = lines.flatMap((line, index) => (/^\s*\[/.test(line) ? [index] : []));
  return headers.map((start, index) => {
    const next = headers[index + 1] ?? lines.length;
    const last = lines.slice(start, next).findLastIndex((line) => !/^\s*(?:#|$)/.test(line));
    return { path: parseHeader(lines[start] ?? ""), start, end: start + last + 1 };
  });
}

/** Returns the keys of a table header; empty for another line, such as one in a multi-line array. */
function parseHeader(header: string): readonly string[] {
  const content = parseContent([header.trim()]);
  return content === undefined ? [] : listKeys(content);
}

function listKeys(content: unknown): readonly string[] {
  const [first] = isEntry(content) ? Object.entries(content) : [];
  return first === undefined ? [] : [first[0], ...listKeys(first[1])];
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((key, index) => key === other[index]);
}

/** Appends a table after a blank line. Removing the table later restores the text. */
function append(text: string, table: readonly string[]): string {
  const eol = findEol(text);
  const block = table.join(eol);
  if (text === "") return block + eol;
  return text.endsWith("\n") ? text + eol + block + eol : text + eol + eol + block;
}

function formatLines(entry: Entry): readonly string[] {
  return stringify(entry).trimEnd().split("\n");
}

/** Replaces the lines of a key in a table, or adds them at its end. */
function setKey(table: readonly string[], [key, value]: readonly [string, unknown]): readonly string[] {
  const lines = formatLines({ [key]: value });
  const start = table.findIndex((line) => parseKey(line) === key);
  if (start === -1) return [...table, ...lines];
  const rest = table.slice(start);
  const length = rest.findIndex((_line, index) => parseContent(rest.slice(0, index + 1)) !== undefined) + 1;
  return [...table.slice(0, start), ...lines, ...rest.slice(Math.max(length, 1))];
}

function parseKey(line: string): string | undefined {
  const [key] = Object.keys(parseContent([`${line.split("=")[0]} = 0`]) ?? {});
  return key;
}

function parseContent(lines: readonly string[]): Entry | undefined {
  try {
    return parse(lines.join("\n"), { integersAsBigInt: "asNeeded" });
  } catch {
    return undefined;
  }
}

/** Joins lines. A last line without a line ending must not keep a carriage return. */
function join(lines: readonly string[]): string {
  return lines.join("\n").replace(/\r$/, "");
}

function trimReturn(line: string): string {
  return line.replace(/\r$/, "");
}

function withReturns(lines: readonly string[], text: string): readonly string[] {
  return findEol(text) === "\r\n" ? lines.map((line) => `${line}\r`) : lines;
}

/** Returns a filter for the header and the lines of these keys. Every key that budgie writes has one line. */
function createLineFilter(shown: ReadonlySet<string>): (line: string) => boolean {
  return (line) => HEADER.test(line) || (!line.includes("#") && shown.has(parseKey(line) ?? ""));
}

// Bare keys only: quotes may belong to a value in a multi-line array.
const HEADER = /^\s*\[\[?[\w.-]+\]\]?/;

function maskLine(line: string): string {
  if (line.trim() === "") return line;
  const [header] = HEADER.exec(line) ?? [];
  const [key = ""] = /^\s*[\w.-]+\s*=/.exec(line) ?? [];
  return header ?? `${key} …`.trimStart();
}
