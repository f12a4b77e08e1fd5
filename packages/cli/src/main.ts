import "./zod-no-jit.ts"; // Before any schema is made
import { homedir } from "node:os";
import { readClientEnvironment } from "./process/read-client-environment.ts";
import type { ReadStream, WriteStream } from "node:tty";
import type { Host, HostTerminal } from "@budgie/mcp-server";
import { runProgram } from "./run-program.ts";

// A closed stderr must not end budgie.
process.stderr.on("error", () => undefined);
// Nor must a closed stdout; a server handles the end of its client itself.
process.stdout.on("error", () => undefined);

const host: Host = {
  env: process.env,
  clientEnv: () => readClientEnvironment(process.ppid),
  home: homedir(),
  cwd: process.cwd(),
  platform: process.platform,
  uid: process.getuid?.(),
  stdin: process.stdin,
  stdinIsTerminal: process.stdin.isTTY,
  terminal: process.stdin.isTTY && process.stdout.isTTY ? toTerminal(process.stdin, process.stdout) : undefined,
  stdout: process.stdout,
  columns: process.stdout.isTTY ? process.stdout.columns : undefined,
  stderrColumns: process.stderr.isTTY ? process.stderr.columns : undefined,
  stderr: process.stderr,
  report: (line) => void process.stderr.write(`budgie: ${line}\n`),
  exit: (code) => process.exit(code),
  events: process,
};

void runProgram(process.argv.slice(2), host).then(exitOnceRead);

function toTerminal(stdin: ReadStream, stdout: WriteStream): HostTerminal {
  return {
    size: () => ({ columns: stdout.columns, rows: stdout.rows }),
    setRaw: (isRaw) => void stdin.setRawMode(isRaw),
    onResize(listener) {
      stdout.on("resize", listener);
      return () => void stdout.off("resize", listener);
    },
  };
}

/** Waits for a slow reader of stdout, since an exit discards what it has not read. */
function exitOnceRead(exitCode: number): void {
  process.stdout.write("", () => host.exit(exitCode));
}
