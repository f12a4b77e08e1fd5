import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import type { BellProcess } from "@budgie/core/bell";

const LIMIT_MS = 30_000;

/**
 * Starts a command in a process group of its own, which outlives budgie. Resolves at its end to the reason why it failed, or to `undefined`.
 * Never rejects. A command that runs for longer than `limitMs` is killed with its group.
 */
export async function startBell(bell: BellProcess, limitMs = LIMIT_MS): Promise<string | undefined> {
  let child: ChildProcess;
  try {
    const { args, cwd, env, program } = bell;
    // It may print what its configuration keeps secret.
    const stdio = ["pipe", "ignore", "ignore"] as const;
    child = spawn(program, args, {
      cwd,
      env,
      stdio: [...stdio],
      detached: process.platform !== "win32",
      windowsHide: true,
    });
  } catch (error) {
    return toReason(error);
  }
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    kill(child);
  }, limitMs);
  // None of them keeps budgie from its exit.
  timer.unref();
  child.unref();
  const stdin = child.stdin as Socket | null;
  stdin?.unref();
  // A command need not read its stdin.
  stdin?.on("error", () => undefined).end(bell.input);
  try {
    const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
    if (isLate) return `it ran for more than ${limitMs / 1000} s, and was killed`;
    if (signal !== null) return `it was ended by ${signal}`;
    return code === 0 ? undefined : `it exited with ${code}`;
  } catch (error) {
    return toReason(error);
  } finally {
    clearTimeout(timer);
    stdin?.destroy();
  }
}

function toReason(error: unknown): string {
  return `it cannot be started (${(error as NodeJS.ErrnoException).code ?? "unknown"})`;
}

function kill(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? child.pid : -child.pid, "SIGKILL");
  } catch {
    // The process has exited.
  }
}
