import { execFile } from "node:child_process";
import type { Host } from "@budgie/mcp-server";

/** The end of a program of the user's. */
export type ToolEnd = { readonly isDone: boolean; readonly stdout: string; readonly stderr: string };

type Running = Pick<Host, "env"> & { readonly signal: AbortSignal };

const LONGEST_MS = 30 * 60_000;
const MOST_PRINTED = 16 * 1024 * 1024;

/** Runs a program of the user's to its end, with the user's environment. Rejects if it cannot be started, or is stopped. */
export function runTool(argv: readonly [string, ...string[]], { env, signal }: Running): Promise<ToolEnd> {
  const [program, ...args] = argv;
  const options = { env: { ...env }, signal, timeout: LONGEST_MS, maxBuffer: MOST_PRINTED };
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (error === null) resolve({ isDone: true, stdout, stderr });
      else if (typeof error.code === "number") resolve({ isDone: false, stdout, stderr });
      else reject(error);
    });
    child.stdin?.end();
  });
}
