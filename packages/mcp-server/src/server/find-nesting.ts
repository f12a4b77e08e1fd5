import { readFileSync } from "node:fs";
import { NESTING_FILE, NESTING_VARIABLES, OUTERMOST, ROOT_SESSION_VARIABLE, type Nesting } from "@budgie/core/policy";

/**
 * Finds this budgie's nesting in its environment and in the sandbox's file. The deepest level and the lowest limit count;
 * `wanted` can only lower the limit.
 */
export function findNesting(env: NodeJS.ProcessEnv, wanted: number | undefined, file = NESTING_FILE): Nesting {
  const own = Object.entries(env).map(([name, value = ""]) => `${name}=${value}`);
  const marks = [own, read(file).split("\n")].flatMap(parseMark);
  const rootSession = marks.length === 0 ? undefined : parseSession(env[ROOT_SESSION_VARIABLE]);
  return {
    ...(rootSession === undefined ? {} : { rootSession }),
    level: Math.max(OUTERMOST.level, ...marks.map(({ level }) => level)),
    most: Math.min(wanted ?? (marks.length === 0 ? OUTERMOST.most : Infinity), ...marks.map(({ most }) => most)),
  };
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Parses the lines of an environment; empty if they do not mark a process of an agent. */
function parseMark(lines: readonly string[]): readonly Nesting[] {
  const [levels, limits] = [NESTING_VARIABLES.level, NESTING_VARIABLES.most].map((name) =>
    lines.filter((line) => line.startsWith(`${name}=`)).map((line) => parseNumber(line.slice(name.length + 1))),
  );
  if (levels === undefined || limits === undefined || levels.length === 0) return [];
  // A malformed mark counts as too deep.
  const level = Math.max(...levels.map((number) => number ?? Infinity));
  const most = limits.length === 0 ? OUTERMOST.most : Math.min(...limits.map((number) => number ?? 0));
  return [{ level, most }];
}

/** Parses the id of a session, which an agent may have chosen. */
function parseSession(text = ""): string | undefined {
  return /^[\da-f-]{1,64}$/.test(text) ? text : undefined;
}

function parseNumber(text: string): number | undefined {
  return /^\d{1,4}$/.test(text) ? Number(text) : undefined;
}
