import { spawn, type StdioOptions } from "node:child_process";
import { once } from "node:events";

/** Runs a command in bash, or in sh without bash, and returns the output of both streams. */
export async function runShell(command: string, cwd: string): Promise<string> {
  const pieces: Buffer[] = [];
  // Merged by the shell, so that the lines of both streams stay in order.
  await start(`exec 2>&1\n${command}`, { cwd, stdio: ["ignore", "pipe", "pipe"] }, (piece) => pieces.push(piece));
  return Buffer.concat(pieces).toString("utf8").trimEnd();
}

/** Runs a command like `!command`, with this process's own streams. */
export function runShellEscape(command: string): Promise<unknown> {
  return start(command, { cwd: process.cwd(), stdio: "inherit" }, () => undefined);
}

/** Runs an agent's hook, and resolves to its exit code. */
export function runHook(command: string): Promise<number | null> {
  return start(command, { cwd: process.cwd(), stdio: "ignore" }, () => undefined);
}

type Options = { readonly cwd: string; readonly stdio: StdioOptions };

async function start(command: string, options: Options, collect: (piece: Buffer) => void): Promise<number | null> {
  for (const shell of ["bash", "sh"]) {
    const child = spawn(shell, ["-c", command], options);
    child.stdout?.on("data", collect);
    child.stderr?.on("data", collect);
    try {
      const [code] = (await once(child, "close")) as [number | null];
      return code;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT" || shell === "sh") throw error;
    }
  }
  return null;
}
