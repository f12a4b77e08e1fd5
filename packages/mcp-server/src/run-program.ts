import { BudgieError } from "@budgie/core";
import { runCli } from "./cli.ts";
import { toExitCode } from "./process/exit-code.ts";
import type { Host } from "./process/host.ts";
import { escapeForTerminal } from "./terminal/printable.ts";
import { withFlags } from "./terminal/with-flags.ts";

/** Runs the command line, reports what it throws, and resolves to the exit code. */
export function runProgram(argv: readonly string[], { report, ...rest }: Host): Promise<number> {
  const host: Host = { ...rest, report: (line) => report(withFlags(line)) };
  return runCli(argv, host).catch((error: unknown) => {
    const isExpected = error instanceof BudgieError;
    // The message may have names that an agent chose.
    host.report(
      isExpected
        ? error.message.split("\n").map(escapeForTerminal).join("\n")
        : String(error instanceof Error ? error.stack : error),
    );
    return toExitCode(error);
  });
}
