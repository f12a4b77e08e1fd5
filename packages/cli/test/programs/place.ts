import type { BudgieUser, Served } from "../helpers/start-budgie.ts";
import type { Program } from "./programs.ts";

/** The place where budgie runs an agent program: a container or this machine. */
export type ProgramHost = AsyncDisposable & {
  readonly isolation: "container" | "none";
  /** Serves an agent `coder` that is the program */
  readonly serve: (user: BudgieUser, options: Serving) => Promise<Served>;
  /** Returns the path of the user's workspace, as the agent sees it */
  readonly toWorkspace: (user: BudgieUser) => string;
  /** Lists the running programs, each by a name that is unique to its start */
  readonly listStarts: (user: BudgieUser) => Promise<readonly string[]>;
  /** Kills only the program's processes */
  readonly kill: (user: BudgieUser, program: Program) => Promise<void>;
  /** Lists what the user's budgies have created and not removed, apart from the register of sessions */
  readonly listTraces: (user: BudgieUser) => Promise<readonly string[]>;
};

export type Serving = {
  readonly program: Program;
  /** More fields of the agent's entry */
  readonly facts: Readonly<Record<string, unknown>>;
  /** More arguments of budgie */
  readonly args: readonly string[];
};

/** The environment of a program's script; the agent's entry lists the names. */
export type ScriptEnv = Readonly<Record<"BASE_URL" | "OPENAI_API_KEY" | "PROGRAMS", string>>;

/** Returns the configuration entry of an agent that is a program. */
export function toEntry({ facts, program }: Serving, env: ScriptEnv): Readonly<Record<string, unknown>> {
  const args = ["-c", program.script];
  return { protocol: "acp", description: "Codes.", command: "sh", args, env: Object.keys(env), ...facts };
}
