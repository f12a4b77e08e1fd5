import { BudgieError } from "@budgie/core";
import { escapeForTerminal } from "@budgie/core/text";
import { runCli } from "./run-cli.ts";
import { chooseExitCode, withFlags, type Host } from "@budgie/mcp-server";

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
    return chooseExitCode(error);
  });
}
