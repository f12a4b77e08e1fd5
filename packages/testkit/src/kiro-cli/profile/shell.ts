import { spawn, type StdioOptions } from "node:child_process";
import { once } from "node:events";

/** Runs a command in bash, or in sh where there is no bash, and gives what it printed on both streams. */
export async function runShell(command: string, cwd: string): Promise<string> {
  const pieces: Buffer[] = [];
  // In the shell, so that lines of the two streams stay in order.
  await start(`exec 2>&1\n${command}`, { cwd, stdio: ["ignore", "pipe", "pipe"] }, (piece) => pieces.push(piece));
  return Buffer.concat(pieces).toString("utf8").trimEnd();
}

/** Runs a command as `!command` does: with this process's own streams. */
export function runShellEscape(command: string): Promise<void> {
  return start(command, { cwd: process.cwd(), stdio: "inherit" }, () => undefined);
}

/** Runs a hook of an agent's: what it needs to know comes on its stdin. */
export function runHook(command: string, { env, input }: { env: NodeJS.ProcessEnv; input: string }): Promise<void> {
  const options: Options = { cwd: process.cwd(), env, input, stdio: ["pipe", "ignore", "ignore"], timeout: 30_000 };
  return start(command, options, () => undefined);
}

type Options = {
  readonly cwd: string;
  readonly stdio: StdioOptions;
  readonly env?: NodeJS.ProcessEnv;
  readonly input?: string;
  readonly timeout?: number;
};

async function start(command: string, { input, ...options }: Options, collect: (piece: Buffer) => void): Promise<void> {
  for (const shell of ["bash", "sh"]) {
    const child = spawn(shell, ["-c", command], options);
    child.stdout?.on("data", collect);
    child.stderr?.on("data", collect);
    child.stdin?.on("error", () => undefined).end(input);
    try {
      await once(child, "close");
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT" || shell === "sh") throw error;
    }
  }
}
