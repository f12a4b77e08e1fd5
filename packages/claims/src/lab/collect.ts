import { text } from "node:stream/consumers";
import type { AgentProcess, Exit } from "@budgie/core";

/** The output and exit of a program. */
export type Ran = { readonly stdout: string; readonly stderr: string; readonly exit: Exit };

/** Waits for a process and collects its output. */
export async function collect({ exit, stderr, stdout }: AgentProcess): Promise<Ran> {
  const [out, err, ended] = await Promise.all([text(stdout), text(stderr), exit]);
  return { stdout: out, stderr: err, exit: ended };
}

/** Returns a signal that aborts a program after a time, or with another signal. */
export function limitSignal(limitMs: number, signal: AbortSignal | undefined): AbortSignal {
  const limit = AbortSignal.timeout(limitMs);
  return signal === undefined ? limit : AbortSignal.any([limit, signal]);
}
