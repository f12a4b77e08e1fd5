import { BudgieError } from "../errors.ts";
import { toOption } from "../options.ts";
import type { Exit } from "../runner/runner.ts";
import { toDurationText } from "../text/duration.ts";

/** The facts that the messages name. */
export type ExitContext = {
  readonly agent: string;
  /** The program's name or path */
  readonly program: string;
  readonly timeoutMs: number;
};

/** Returns the error for a process that was stopped, or could not be run; `undefined` for one that ended by itself. */
export function toExitFailure(
  { reason }: Pick<Exit, "reason">,
  { agent, program, timeoutMs }: ExitContext,
): BudgieError | undefined {
  switch (reason) {
    case "timeout":
      return new BudgieError(
        "TIMED_OUT",
        `The agent "${agent}" did not finish within ${toDurationText(timeoutMs)} and was stopped. ` +
          `Give it a smaller task, or more time with ${toOption("timeoutMs")}.`,
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
        `The agent "${agent}" was stopped because its session's home exceeded its limit (${toOption("diskBytes")}), or ` +
          `because a disk that it writes to was nearly full. The session has ended, and its home is removed. ` +
          `Have it write less.`,
      );
    case undefined:
      return undefined;
  }
}
