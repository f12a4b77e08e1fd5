import { readFileSync } from "node:fs";
import { BudgieError } from "../errors.ts";

/** The nesting of budgies: an agent may start a budgie, whose agents may start another. */
export type Nesting = {
  /** The number of agents above this budgie; infinite if it is malformed */
  readonly level: number;
  /** The number of nested agents that the outermost budgie allows */
  readonly most: number;
  /** The session of the outermost call above this budgie, to which its turns count; `undefined` if none is known */
  readonly rootSession?: string | undefined;
};

/** The nesting of a budgie that was not started by an agent. */
export const OUTERMOST: Nesting = { level: 0, most: 1 };

/** The environment variables of an agent's processes that tell a budgie started by it its nesting. */
export const NESTING_VARIABLES = { level: "BUDGIE_DEPTH", most: "BUDGIE_MAX_DEPTH" } as const;

/** The variable that names the outermost call's session to a budgie without a sandbox around it, which shares the state of the outermost. */
export const ROOT_SESSION_VARIABLE = "BUDGIE_ROOT_SESSION";

/** The file in a sandbox that holds these variables. It is mounted read-only, so that an agent cannot clear them as in its environment. */
export const NESTING_FILE = "/etc/budgie/depth";

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

/** Returns true if this budgie must not start agents. */
export function isTooDeep({ level, most }: Nesting): boolean {
  return level + 1 > most;
}

/** Throws `TOO_DEEP` if this budgie must not start agents. */
export function checkNesting(nesting: Nesting): void {
  if (!isTooDeep(nesting)) return;
  throw new BudgieError(
    "TOO_DEEP",
    `An agent started this budgie, and the outermost budgie allows a depth of ${nesting.most} and no further nesting: no ` +
      `agent was started. Do the work without this tool. The user can allow a greater depth there.`,
  );
}

/** Creates the environment variables for an agent's processes. */
export function nestingVariables({ level, most }: Nesting): Readonly<Record<string, string>> {
  return { [NESTING_VARIABLES.level]: String(level + 1), [NESTING_VARIABLES.most]: String(most) };
}

/** Creates the variable of a session's processes that may call agents themselves; empty if none of their calls would be allowed. */
export function rootVariables(
  { level, most, rootSession }: Nesting,
  sessionId: string,
): Readonly<Record<string, string>> {
  return level + 2 > most ? {} : { [ROOT_SESSION_VARIABLE]: rootSession ?? sessionId };
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
