import { printParseErrorCode, visit } from "jsonc-parser";

/** Parses JSON. Throws a `SyntaxError` that names the line and the column of the fault, without quoting the text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
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
