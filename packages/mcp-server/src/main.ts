import "./zod-no-jit.ts"; // Before any schema is made
import { homedir } from "node:os";
import type { Host } from "./process/host.ts";
import { runProgram } from "./run-program.ts";

// Budgie goes on when the reader of its log has closed it.
process.stderr.on("error", () => undefined);
// A reader that closes stdout has seen enough. A server watches its client by itself.
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
  events: process,
};

void runProgram(process.argv.slice(2), host).then(exitOnceRead);

/** Waits for a slow reader of stdout, since an exit discards what it has not read. */
function exitOnceRead(exitCode: number): void {
  process.stdout.write("", () => host.exit(exitCode));
}
