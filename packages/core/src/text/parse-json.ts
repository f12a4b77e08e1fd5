import { createScanner, printParseErrorCode, visit, type JSONVisitor } from "jsonc-parser";
import { FILE_BOUNDS, type JsonBounds } from "../bounds/json-bounds.ts";
import { parseBoundedJson } from "../bounds/parse-bounded-json.ts";

/** Parses a file's JSON. Throws a `SyntaxError` that names the line and the column of the fault, or the bound, without quoting the text. */
export function parseJson(text: string, bounds: JsonBounds = FILE_BOUNDS): unknown {
  try {
    return parseBoundedJson(text, bounds);
  } catch (cause) {
    if (cause instanceof RangeError) throw new SyntaxError(`it has ${cause.message}`, { cause });
    throw new SyntaxError(findFault(text) ?? "it is not JSON", { cause });
  }
}

/** Parses JSON with comments and trailing commas as {@link parseJson} parses JSON. */
export function parseJsonc(text: string, bounds: JsonBounds = FILE_BOUNDS): unknown {
  return parseJson(withoutComments(text.replace(/^\uFEFF/, "")), bounds);
}

// Numbers of `SyntaxKind`, a const enum, which single files cannot import.
const [CLOSE_BRACE, CLOSE_BRACKET, COMMA, END] = [2, 4, 5, 17];

/** Returns JSON with spaces in place of comments and of commas before a closing bracket. */
function withoutComments(text: string): string {
  const scanner = createScanner(text, true);
  let [strict, comma] = ["", ""];
  for (let kind: number = scanner.scan(); kind !== END; kind = scanner.scan()) {
    strict += kind === CLOSE_BRACE || kind === CLOSE_BRACKET ? " " : comma;
    comma = kind === COMMA ? "," : "";
    strict +=
      comma === "" ? text.slice(scanner.getTokenOffset(), scanner.getTokenOffset() + scanner.getTokenLength()) : "";
  }
  return strict + comma;
}

function findFault(text: string): string | undefined {
  let fault: string | undefined;
  const onError = ((code, ...[, , line, column]) => {
    fault ??= `line ${line + 1}, column ${column + 1}: ${splitWords(printParseErrorCode(code))}`;
  }) satisfies JSONVisitor["onError"];
  try {
    visit(text, { onError }, { disallowComments: true });
  } catch {
    // It recurses into what follows the fault, at any depth.
  }
  return fault;
}

/** Returns the words of a name such as `PropertyNameExpected`. */
function splitWords(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).trim();
}
