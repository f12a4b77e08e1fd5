import { readBounded, type BoundedOutput } from "./bounded-output.ts";
import type { OutputFiles } from "./output-files.ts";
import type { ProtocolTurn } from "./protocol.ts";
import type { AgentProcess, Command, Exit } from "../runner/runner.ts";

// An answer rarely has more than a few kilobytes. The output of a runaway agent must not fill budgie's memory.
const HELD_BYTES = 1024 * 1024;

/** A process that has ended, and its output. */
export type Finished = {
  readonly exit: Exit;
  readonly stdout: BoundedOutput;
  readonly stderr: BoundedOutput;
  /** The content of its answer file; `undefined` if there is none */
  readonly answer: string | undefined;
};

export type RunOptions = {
  readonly input: string;
  /** The answer file's name in the home; `undefined` if the process writes none */
  readonly answerFile: string | undefined;
  /** The files for long outputs; if left out, their middle is discarded */
  readonly outputFiles?: OutputFiles | undefined;
  /** Returns true if a process that printed this and then pauses is waiting for something that never happens */
  readonly isStuck: (stdout: string) => boolean;
};

/**
 * Runs a command of a turn to its end and collects its output, which the turn's events tell as it arrives. Stops it after `timeoutMs`, or
 * some seconds after it got stuck; `exit.reason` is then `timeout`.
 */
export async function runToEnd(turn: ProtocolTurn, command: Command, options: RunOptions): Promise<Finished> {
  const { directory, events, session, signal, timeoutMs } = turn;
  const { answerFile, input, outputFiles: files } = options;
  const child = await session.start(command, { directory, input, signal });
  const stopLate = stopAfter(child, timeoutMs);
  const watch = watchForSilence(options.isStuck, () => stopLate.now());
  let isRead = false;
  try {
    const printing = readBounded(child.stdout, {
      heldBytes: HELD_BYTES,
      files,
      onChunk(chunk, soFar) {
        events.emit("output", chunk, "stdout");
        watch.heard(soFar);
      },
    });
    // An engine may report the exit code some 50 ms after the output ends, and takes as long to read a file.
    const read = async (): Promise<string | undefined> => answerFile && session.readFile(answerFile);
    const reading = printing.then(read);
    const [stdout, stderr, early, exit] = await Promise.all([
      printing,
      readBounded(child.stderr, {
        heldBytes: HELD_BYTES,
        files,
        onChunk: (chunk) => events.emit("output", chunk, "stderr"),
      }),
      reading,
      child.exit,
    ]);
    isRead = true;
    // A process may close its output before it writes the file.
    return { exit, stdout, stderr, answer: early || (await read()) };
  } finally {
    watch.cancel();
    await stopLate.cancel();
    // An agent whose output is not read must not continue.
    if (!isRead) await child.stop("shutdown");
  }
}

// A longer delay makes Node's timers fire at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function stopAfter(child: AgentProcess, timeoutMs: number): { now(): void; cancel(): Promise<void> } {
  let stopping: Promise<void> = Promise.resolve();
  const now = (): void => {
    stopping = child.stop("timeout");
    // `cancel` reports the rejection, once the process has ended.
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
// The output of a stuck process is short.
const HEAD_LENGTH = 4096;

type Watch = { readonly heard: (soFar: () => string) => void; readonly cancel: () => void };

function watchForSilence(isStuck: RunOptions["isStuck"], onStuck: () => void): Watch {
  let timer: NodeJS.Timeout | undefined;
  let pieces = 0;
  return {
    heard(soFar) {
      clearTimeout(timer);
      // A process with more output is working.
      if (++pieces > 20) return;
      const text = soFar();
      if (text.length <= HEAD_LENGTH && isStuck(text)) timer = setTimeout(onStuck, SILENCE_MS);
    },
    cancel: () => clearTimeout(timer),
  };
}
