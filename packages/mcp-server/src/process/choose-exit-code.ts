import { BudgieError, type ErrorCode } from "@budgie/core";

/** The exit codes of every command. */
export const EXIT = {
  done: 0,
  failed: 1,
  /** The command line, a variable or a configuration file is wrong */
  usage: 2,
  /** No container engine is reachable, or the sandbox image is missing */
  unready: 3,
  bug: 70,
  /** Ctrl-C or another signal; a server exits with `done` */
  interrupted: 130,
} as const;

const CODES: Readonly<Partial<Record<ErrorCode, number>>> = {
  CONFIG_INVALID: EXIT.usage,
  IMAGE_NOT_FOUND: EXIT.unready,
  RUNNER_UNAVAILABLE: EXIT.unready,
};

/** Returns the exit code for what a command threw. */
export function chooseExitCode(error: unknown): number {
  return error instanceof BudgieError ? (CODES[error.code] ?? EXIT.failed) : EXIT.bug;
}
