import type { Command, Projection } from "../runner/runner.ts";

/** What one run of `kiro-cli chat` is told. */
export type KiroRun = {
  /** A program's name, looked up on the PATH, or its path */
  readonly binary: string;
  readonly agent: string;
  /** `undefined` leaves the choice to Kiro */
  readonly model: string | undefined;
  readonly resume: boolean;
  readonly trustAllTools: boolean;
  readonly env: Readonly<Record<string, string>>;
  readonly projections: readonly Projection[];
};

/** Builds the command of one headless run. The prompt is not part of it: Kiro reads it from stdin, whole and unparsed. */
export function toKiroCommand(run: KiroRun): Command {
  const argv: [string, ...string[]] = [run.binary, "chat", "--agent", run.agent, "--no-interactive"];
  if (run.model !== undefined) argv.push("--model", run.model);
  if (run.resume) argv.push("--resume");
  if (run.trustAllTools) argv.push("--trust-all-tools");
  return { argv, env: run.env, projections: run.projections, login: "kiro" };
}
