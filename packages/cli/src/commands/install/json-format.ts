import { createScanner, findNodeAtLocation, parse, parseTree, printParseErrorCode, visit } from "jsonc-parser";
import type { Node, ParseError } from "jsonc-parser";
import { isEntry, findEol, type ConfigFormat, type Entry } from "./config-format.ts";

// Some clients accept comments and trailing commas; the others report them.
const OPTIONS = { allowTrailingComma: true, allowEmptyContent: true };

/** The editor for JSON, with or without comments. */
export const jsonFormat: ConfigFormat = {
  parse(text) {
    const errors: ParseError[] = [];
    const content: unknown = parse(text, errors, OPTIONS) ?? {};
    const [error] = errors;
    if (error !== undefined)
      throw new Error(`${printParseErrorCode(error.error)} in ${formatPlace(text, error.offset)}`);
    if (!isEntry(content)) throw new Error("it is not an object");
    return content;
  },
  put(text, path, entry) {
    if (findNode(text, path) === undefined) return set(text, path, entry);
    return Object.entries(entry).reduce((edited, [key, value]) => set(edited, [...path, key], value), text);
  },
  remove: removeValue,
  mask: (text, path, shown) =>
    maskValues(text, ([servers, name, key]) => servers === path[0] && name === path[1] && shown.has(String(key))),
};

/** Masks all comments, and the values whose paths are not shown. */
export function maskValues(text: string, isShown: (path: readonly (string | number)[]) => boolean): string {
  const hidden: Range[] = [];
  visit(
    text,
    {
      onComment: (start, length) => void hidden.push({ start, end: start + length }),
      onLiteralValue(...[, start, length, , , toPath]) {
        if (!isShown(toPath())) hidden.push({ start, end: start + length });
      },
    },
    OPTIONS,
  );
  // Masks each line separately, to keep the line numbers of a diff.
  return replaceRanges(text, hidden, (part) => part.replace(/[^\r\n]+/g, "…"));
}

/** Sets keys of the whole file, new ones first. */
export function putKeys(text: string, entry: Entry): string {
  return Object.entries(entry).reduce((edited, [key, value]) => set(edited, [key], value), text);
}

/** Removes one value with its key. */
export function removeValue(text: string, path: Path): string {
  const property = findNode(text, path)?.parent;
  return property === undefined ? text : cut(text, property);
}

/** Sets one value, and the objects on the way to it. */
export function putValue(text: string, path: Path, value: unknown): string {
  return set(text, path, value);
}

type Range = { readonly start: number; readonly end: number };
type Path = readonly string[];

function formatPlace(text: string, offset: number): string {
  const lines = text.slice(0, offset).split("\n");
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}

function findNode(text: string, path: Path): Node | undefined {
  const root = parseTree(text, [], OPTIONS);
  return root && findNodeAtLocation(root, [...path]);
}

/** Replaces an existing value, or inserts a new one first in its object, where no other comma changes. */
function set(text: string, path: Path, value: unknown): string {
  const existing = findNode(text, path);
  if (existing !== undefined) {
    const { length, offset } = existing;
    return text.slice(0, offset) + valueText(text, value, path.length) + text.slice(offset + length);
  }
  const [key = "", ...parents] = path.toReversed();
  if (path.length === 0) return keepComments(text) + valueText(text, value, 0) + findEol(text);
  const parent = findNode(text, parents.toReversed());
  if (parent?.type !== "object") return set(text, parents.toReversed(), { [key]: value });
  return insertFirst(text, parent, { key, value, depth: path.length });
}

/** Returns a text that has only comments, with a line ending. */
function keepComments(text: string): string {
  if (text.trim() === "") return "";
  return text.endsWith("\n") ? text : text + findEol(text);
}

type Property = { readonly key: string; readonly value: unknown; readonly depth: number };

function insertFirst(text: string, { children = [], offset }: Node, { depth, key, value }: Property): string {
  const rest = text.slice(offset + 1);
  const isLineEnd = /^[ \t]*\r?\n/.test(rest);
  const before = formatLine(text, depth) + `${JSON.stringify(key)}: ${valueText(text, value, depth)}`;
  const comma = children.length > 0 ? "," : "";
  const after = isLineEnd ? "" : formatLine(text, children.length > 0 ? depth : depth - 1);
  return text.slice(0, offset + 1) + before + comma + after + rest;
}

function valueText(text: string, value: unknown, depth: number): string {
  return JSON.stringify(value, undefined, findIndent(text)).replaceAll("\n", formatLine(text, depth));
}

function formatLine(text: string, depth: number): string {
  return findEol(text) + findIndent(text).repeat(depth);
}

function findIndent(text: string): string {
  const [, first] = /^([ \t]+)"/m.exec(text) ?? [];
  if (first === undefined) return "  ";
  return first.startsWith("\t") ? "\t" : first;
}

/** Removes a property with its comma, and with its lines if nothing else is on them. */
function cut(text: string, { length, offset, parent }: Node): string {
  const end = offset + length;
  const next = findToken(text, end);
  const comma = text[next] === "," ? next : findCommaBefore(text, offset, parent);
  const cuts = [{ start: offset, end }, ...(comma === undefined ? [] : [{ start: comma, end: comma + 1 }])];
  const whole = findWholeLines(text, { start: offset, end: comma === undefined ? end : Math.max(end, comma + 1) });
  return replaceRanges(text, whole === undefined ? cuts : [...cuts.filter(({ start }) => start < whole.start), whole]);
}

/** Returns the offset of the next token that is neither space nor comment. */
function findToken(text: string, from: number): number {
  const scanner = createScanner(text, true);
  scanner.setPosition(from);
  scanner.scan();
  return scanner.getTokenOffset();
}

function findCommaBefore(text: string, offset: number, parent: Node | undefined): number | undefined {
  const previous = parent?.children?.findLast((sibling) => sibling.offset < offset);
  return previous && findToken(text, previous.offset + previous.length);
}

function findWholeLines(text: string, { end, start }: Range): Range | undefined {
  const lineStart = text.lastIndexOf("\n", start - 1) + 1;
  const [rest] = /^[ \t]*\r?\n/.exec(text.slice(end)) ?? [];
  const isWhole = rest !== undefined && text.slice(lineStart, start).trim() === "";
  return isWhole ? { start: lineStart, end: end + rest.length } : undefined;
}

function replaceRanges(text: string, ranges: readonly Range[], by: (part: string) => string = () => ""): string {
  const fromTheEnd = ranges.toSorted((one, other) => other.start - one.start);
  return fromTheEnd.reduce(
    (edited, { end, start }) => edited.slice(0, start) + by(edited.slice(start, end)) + edited.slice(end),
    text,
  );
}
