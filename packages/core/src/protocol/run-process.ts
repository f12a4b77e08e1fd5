import { readBounded, type BoundedOutput } from "./bounded-output.ts";
import type { OutputFiles } from "./output-files.ts";
import type { AgentProcess, Command, Exit, RunnerSession } from "../runner/runner.ts";

// An answer is rarely over a few kilobytes; what a runaway agent prints must not become budgie's memory.
const HELD_BYTES = 1024 * 1024;

/** A process that has ended, and what it said. */
export type Finished = {
  readonly exit: Exit;
  readonly stdout: BoundedOutput;
  readonly stderr: BoundedOutput;
  /** What the process wrote to its answer file; `undefined` if there is none */
  readonly answer: string | undefined;
};

export type RunOptions = {
  readonly directory: string;
  readonly input: string;
  readonly timeoutMs: number;
  /** A file's name in the home; `undefined` if the process writes none */
  readonly answerFile: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** Where what it prints goes when it is too much to be held; left out, the middle is dropped */
  readonly outputFiles?: OutputFiles | undefined;
  /** Whether a process that has said this and falls silent waits for something that never comes */
  readonly isStuck: (stdout: string) => boolean;
};

/**
 * Runs a command to its end and collects what it says. Past `timeoutMs`, or some seconds after it got stuck, it is stopped,
 * and `exit.reason` is `timeout`.
 */
export async function runToEnd(session: RunnerSession, command: Command, options: RunOptions): Promise<Finished> {
  const { answerFile, directory, input, outputFiles: files, signal, timeoutMs } = options;
  const child = await session.start(command, { directory, input, signal });
  const stopLate = stopAfter(child, timeoutMs);
  const watch = watchForSilence(options.isStuck, () => stopLate.now());
  let isRead = false;
  try {
    const saying = readBounded(child.stdout, { heldBytes: HELD_BYTES, files, onChunk: watch.heard });
    // An engine may know the exit code some 50 ms after the output ends, and needs as long to hand out a file.
    const read = async (): Promise<string | undefined> => answerFile && session.readFile(answerFile);
    const reading = saying.then(read);
    const [stdout, stderr, early, exit] = await Promise.all([
      saying,
      readBounded(child.stderr, { heldBytes: HELD_BYTES, files }),
      reading,
      child.exit,
    ]);
    isRead = true;
    // A process may close its output before it is done.
    return { exit, stdout, stderr, answer: early || (await read()) };
  } finally {
    watch.cancel();
    await stopLate.cancel();
    // An agent that nobody listens to must not work on.
    if (!isRead) await child.stop("shutdown");
  }
}

// Beyond this Node's timers go off at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function stopAfter(child: AgentProcess, timeoutMs: number): { now(): void; cancel(): Promise<void> } {
  let stopping: Promise<void> = Promise.resolve();
  const now = (): void => {
    stopping = child.stop("timeout");
    // Reported by `cancel`, once the process is known to be gone.
    stopping.catch(() => undefined);
  };
  const timer = setTimeout(now, Math.min(timeoutMs, LONGEST_TIMER_MS));
  return {
    now,
    async cancel() {
      clearTimeout(timer);
      await stopping;
    },
  };
}

const SILENCE_MS = 5000;
// What a stuck process has to say is short.
const HEAD_LENGTH = 4096;

type Watch = { readonly heard: (soFar: () => string) => void; readonly cancel: () => void };

function watchForSilence(isStuck: RunOptions["isStuck"], onStuck: () => void): Watch {
  let timer: NodeJS.Timeout | undefined;
  let pieces = 0;
  return {
    heard(soFar) {
      clearTimeout(timer);
      // Whoever goes on talking is at work.
      if (++pieces > 20) return;
      const text = soFar();
      if (text.length <= HEAD_LENGTH && isStuck(text)) timer = setTimeout(onStuck, SILENCE_MS);
    },
    cancel: () => clearTimeout(timer),
  };
}
