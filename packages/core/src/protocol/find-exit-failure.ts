import { BudgieError } from "../errors.ts";
import { formatOption } from "../option-name.ts";
import type { Exit } from "../runner/runner.ts";
import { formatDuration } from "../text/parse-duration.ts";

/** The facts that the messages name. */
export type ExitContext = {
  readonly agent: string;
  /** The program's name or path */
  readonly program: string;
  readonly timeoutMs: number;
};

/** Returns the error for a process that was stopped, or could not be run; `undefined` for one that ended by itself. */
export function findExitFailure(
  { reason }: Pick<Exit, "reason">,
  { agent, program, timeoutMs }: ExitContext,
): BudgieError | undefined {
  switch (reason) {
    case "timeout":
      return new BudgieError(
        "TIMED_OUT",
        `The agent "${agent}" did not finish within ${formatDuration(timeoutMs)} and was stopped. ` +
          `Give it a smaller task, or more time with ${formatOption("timeoutMs")}.`,
      );
    case "cancelled":
      return new BudgieError("CANCELLED", `The turn of "${agent}" was cancelled, and the agent stopped.`);
    case "shutdown":
      return new BudgieError("CANCELLED", `The turn of "${agent}" was stopped because budgie is ending.`);
    case "command-not-found":
      return new BudgieError(
        "COMMAND_NOT_FOUND",
        `There is no program "${program}" where the agent "${agent}" runs. Install it there; for a sandbox, in its image.`,
      );
    case "out-of-memory":
      return new BudgieError(
        "OUT_OF_MEMORY",
        `The agent "${agent}" was killed because it used more memory than its sandbox has. Give it a smaller task.`,
      );
    case "disk-limit":
      return new BudgieError(
        "DISK_LIMIT",
        `The agent "${agent}" was stopped because its session's home exceeded its limit (${formatOption("diskBytes")}), or ` +
          `because a disk that it writes to was nearly full. The session has ended, and its home is removed. ` +
          `Have it write less.`,
      );
    case undefined:
      return undefined;
  }
}
