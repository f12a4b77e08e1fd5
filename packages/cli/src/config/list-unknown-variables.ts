import { NESTING_VARIABLES, ROOT_SESSION_VARIABLE } from "@budgie/core/policy";
import { didYouMean } from "../terminal/did-you-mean.ts";
import { OPTION_KEYS } from "../options/config-schema.ts";
import { toVariable } from "../options/format-option-name.ts";

/** Returns a warning for each variable that looks like an option of budgie, but is not. */
export function listUnknownVariables(env: NodeJS.ProcessEnv): readonly string[] {
  const own = [...OPTION_KEYS.map(toVariable), ...Object.values(NESTING_VARIABLES), ROOT_SESSION_VARIABLE, ...OTHERS];
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !own.includes(name) && !OF_TESTS.test(name))
    .toSorted()
    .map((name) => `The variable ${name} is not one of budgie's, and is ignored.${findHint(name, own)}`);
}

const PREFIX = "BUDGIE_";

/** Compares names without their prefix, which makes all variables similar. */
function findHint(name: string, own: readonly string[]): string {
  const [word = "", ...words] = [name, ...own].map((variable) => variable.slice(PREFIX.length));
  return didYouMean(word, words).replaceAll(/"(?=\w)/g, `"${PREFIX}`);
}

// The token of HTTP, and the marks that agents inherit
const OTHERS = ["BUDGIE_HTTP_TOKEN", "BUDGIE_SESSION", "BUDGIE_TURN"];

const OF_TESTS = /^BUDGIE_(?:TEST|WRITE)_/;
