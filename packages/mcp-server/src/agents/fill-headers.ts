import { BudgieError } from "@budgie/core";
import type { RemoteAgent } from "@budgie/core/agents";

const VARIABLE = /\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g;

/** Lists the variables that the values of headers name. */
export function listVariables(headers: RemoteAgent["headers"]): readonly string[] {
  return Object.values(headers).flatMap((value) => [...value.matchAll(VARIABLE)].map(nameOf));
}

/**
 * Returns headers with their variables expanded. Throws `LOGIN_REQUIRED` for a variable that is not set, and for a value that no
 * header can have; the error does not contain the value.
 */
export function fillHeaders(
  headers: RemoteAgent["headers"],
  env: NodeJS.ProcessEnv,
  who: string,
): Readonly<Record<string, string>> {
  const missing = listVariables(headers).filter((variable) => !env[variable]);
  if (missing.length > 0) {
    throw new BudgieError(
      "LOGIN_REQUIRED",
      `${who} needs ${missing.join(", ")}, which is not set where budgie was started. Set it, or take it out of "headers".`,
    );
  }
  const filled = Object.entries(headers).map(([name, value]) => {
    const text = value.replace(VARIABLE, (...match: string[]) => env[match[1] ?? match[2] ?? ""] ?? "");
    if (/^[\t\x20-\x7e]*$/.test(text)) return [name, text];
    throw new BudgieError(
      "LOGIN_REQUIRED",
      `${who} has a header "${name}" whose value holds a line break or another character that no header can have. Correct it, or its variable.`,
    );
  });
  return Object.fromEntries(filled) as Readonly<Record<string, string>>;
}

function nameOf([, braced, plain]: RegExpMatchArray): string {
  return braced ?? plain ?? "";
}
