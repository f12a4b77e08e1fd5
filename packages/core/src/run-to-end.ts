import { readBounded, type BoundedOutput } from "./bounded-output.ts";
import type { AgentProcess, Command, Exit, RunnerSession } from "./runner.ts";

// An answer is rarely over a few kilobytes; what a runaway agent prints must not become budgie's memory.
const OUTPUT_LIMIT_BYTES = 4 * 1024 * 1024;

/** A process that has ended, and what it said. */
export type Finished = {
  readonly exit: Exit;
  readonly stdout: BoundedOutput;
  readonly stderr: BoundedOutput;
};

export type RunOptions = {
  readonly directory: string;
  readonly input: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
};

/** Runs a command to its end and collects what it says; past `timeoutMs` it is stopped, and `exit.reason` says so. */
export async function runToEnd(session: RunnerSession, command: Command, options: RunOptions): Promise<Finished> {
  const { directory, input, signal, timeoutMs } = options;
  const child = await session.start(command, { directory, input, signal });
  const stopLate = stopAfter(child, timeoutMs);
  let isRead = false;
  try {
    const [stdout, stderr, exit] = await Promise.all([
      readBounded(child.stdout, OUTPUT_LIMIT_BYTES),
      readBounded(child.stderr, OUTPUT_LIMIT_BYTES),
      child.exit,
    ]);
    isRead = true;
    return { exit, stdout, stderr };
  } finally {
    await stopLate.cancel();
    // An agent that nobody listens to must not work on.
    if (!isRead) await child.stop("shutdown");
  }
}

// Beyond this Node's timers go off at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function stopAfter(child: AgentProcess, timeoutMs: number): { cancel(): Promise<void> } {
  let stopping: Promise<void> = Promise.resolve();
  const timer = setTimeout(
    () => {
      stopping = child.stop("timeout");
      // Reported by `cancel`, once the process is known to be gone.
      stopping.catch(() => undefined);
    },
    Math.min(timeoutMs, LONGEST_TIMER_MS),
  );
  return {
    async cancel() {
      clearTimeout(timer);
      await stopping;
    },
  };
}
