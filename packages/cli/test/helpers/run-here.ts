import { PassThrough, type Readable, type Writable } from "node:stream";
import type { Host } from "@budgie/mcp-server";
import { runProgram } from "../../src/run-program.ts";
import { toSilentHost } from "./to-silent-host.ts";

export type Ended = { readonly exitCode: number | null; readonly signal: string | null };

/** A budgie with its own streams, in its own process or in this one. */
export type Program = {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly ended: Promise<Ended>;
};

/** Runs budgie in this process. It gets no signals, and its exit ends its streams only. */
export function runHere(
  argv: readonly string[],
  { env, home, terminal }: Pick<Host, "env" | "home" | "terminal">,
): Program {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const ended = new Promise<Ended>((resolve) => {
    function exit(exitCode: number): void {
      stdout.end();
      stderr.end();
      resolve({ exitCode, signal: null });
    }
    const report = (line: string): void => {
      if (!stderr.writableEnded) stderr.write(`budgie: ${line}\n`);
    };
    const { platform } = process;
    const host = {
      env,
      home,
      cwd: process.cwd(),
      platform,
      uid: process.getuid?.(),
      stdin,
      terminal,
      stdout,
      report,
      exit,
    };
    void runProgram(argv, toSilentHost(host)).then(exit);
  });
  return { stdin, stdout, stderr, ended };
}
