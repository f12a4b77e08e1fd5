import "./zod-no-jit.ts"; // Before any schema is made
import { homedir } from "node:os";
import { BudgieError } from "@budgie/core";
import { runCli } from "./cli.ts";
import type { Host } from "./process/host.ts";
import { escapeForTerminal } from "./terminal/printable.ts";

// A reader of the log that went away is no reason to stop.
process.stderr.on("error", () => undefined);
// And one of the output has seen enough; a server's is its client, for which it looks out itself.
process.stdout.on("error", () => undefined);

const host: Host = {
  env: process.env,
  home: homedir(),
  cwd: process.cwd(),
  platform: process.platform,
  uid: process.getuid?.(),
  stdin: process.stdin,
  stdout: process.stdout,
  columns: process.stdout.isTTY ? process.stdout.columns : undefined,
  report: (line) => void process.stderr.write(`budgie: ${line}\n`),
  exit: (code) => process.exit(code),
};

void runCli(process.argv.slice(2), host).catch(toFailed).then(exitOnceRead);

function toFailed(error: unknown): number {
  const isExpected = error instanceof BudgieError;
  // The message may have names that an agent chose.
  host.report(
    isExpected
      ? error.message.split("\n").map(escapeForTerminal).join("\n")
      : String(error instanceof Error ? error.stack : error),
  );
  return isExpected ? 1 : 70;
}

/** What a slow reader has not taken yet would go with the process. */
function exitOnceRead(exitCode: number): void {
  process.stdout.write("", () => host.exit(exitCode));
}
