import { printParseErrorCode, visit } from "jsonc-parser";
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

function findFault(text: string): string | undefined {
  let fault: string | undefined;
  visit(
    text,
    {
      onError(code, ...[, , line, column]) {
        fault ??= `line ${line + 1}, column ${column + 1}: ${toWords(printParseErrorCode(code))}`;
      },
    },
    { disallowComments: true },
  );
  return fault;
}

/** Returns the words of a name such as `PropertyNameExpected`. */
function toWords(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).trim();
}
