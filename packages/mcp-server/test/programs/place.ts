import type { BudgieUser, Served } from "../helpers/start-budgie.ts";
import type { Program } from "./programs.ts";

/** Where budgie runs an agent program: a container or this machine. */
export type Place = AsyncDisposable & {
  readonly isolation: "container" | "none";
  /** Serves an agent `coder` that is the program */
  readonly serve: (user: BudgieUser, options: Serving) => Promise<Served>;
  /** Returns the path of the user's workspace, as the agent sees it */
  readonly toWorkspace: (user: BudgieUser) => string;
  /** Lists the starts of programs that run now, each by a name that no other start has */
  readonly listStarts: (user: BudgieUser) => Promise<readonly string[]>;
  /** Kills all processes of the program, and nothing else */
  readonly kill: (user: BudgieUser, program: Program) => Promise<void>;
  /** Lists what the user's budgies have made and not removed, other than sessions' registers */
  readonly listTraces: (user: BudgieUser) => Promise<readonly string[]>;
};

export type Serving = {
  readonly program: Program;
  /** More facts of the agent */
  readonly facts: Readonly<Record<string, unknown>>;
  /** More arguments of budgie */
  readonly args: readonly string[];
};

/** Environment of a program's script, whose names its agent's entry lists. */
export type ScriptEnv = Readonly<Record<"BASE_URL" | "OPENAI_API_KEY" | "PROGRAMS", string>>;

/** Returns the entry of an agent that is a program. */
export function toEntry({ facts, program }: Serving, env: ScriptEnv): Readonly<Record<string, unknown>> {
  const args = ["-c", program.script];
  return { protocol: "acp", description: "Codes.", command: "sh", args, env: Object.keys(env), ...facts };
}
