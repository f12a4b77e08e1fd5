import { BudgieError } from "../errors.ts";

/** How agents that budgie started lie one in another: one may itself start a budgie, which starts agents. */
export type Depth = {
  /** How many of them are above this budgie; infinite where that cannot be told */
  readonly own: number;
  /** How many there may be, one in another: what the outermost budgie allows */
  readonly most: number;
};

/** That of a budgie which no agent started. */
export const OUTERMOST: Depth = { own: 0, most: 1 };

/** The variables by which a budgie knows what is above it. */
export const DEPTH_VARIABLES = { own: "BUDGIE_DEPTH", most: "BUDGIE_MAX_DEPTH" } as const;

/** The file in a sandbox with these variables. It is mounted read-only, since an agent can overwrite the memory of other processes. */
export const DEPTH_FILE = "/etc/budgie/depth";

/** Whether an agent of this budgie's would be one too many. */
export function isTooDeep({ most, own }: Depth): boolean {
  return own + 1 > most;
}

/** Throws `TOO_DEEP` where no more agents may be started. */
export function refuseTooDeep(depth: Depth): void {
  if (!isTooDeep(depth)) return;
  throw new BudgieError(
    "TOO_DEEP",
    `An agent started this budgie, and --max-depth of the outermost budgie, which is ${depth.most}, allows none below it: no ` +
      `agent was started. Do the work without this tool. Who runs the outermost budgie can allow more.`,
  );
}

/** What an agent's processes, and with them a budgie that it starts, are told. */
export function toDepthEnvironment({ most, own }: Depth): Readonly<Record<string, string>> {
  return { [DEPTH_VARIABLES.own]: String(own + 1), [DEPTH_VARIABLES.most]: String(most) };
}
