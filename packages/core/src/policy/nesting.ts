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
