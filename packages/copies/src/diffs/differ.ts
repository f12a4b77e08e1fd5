import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { DiffRequest } from "./diff-texts.ts";
import { replaceAll } from "./replace-all.ts";

/** A worker that diffs one pair of texts after another, while this thread does other work. */
export type Differ = {
  /** Returns the hunks as latin1 lines; those that replace everything if the diff takes too long */
  readonly diff: (before: string, after: string) => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
};

type DifferOptions = {
  /** Limit of one diff; default 5 s */
  readonly timeoutMs?: number;
  /** Limit of all diffs; default 30 s */
  readonly totalMs?: number;
  /** The worker's program */
  readonly program?: string;
};

// The program lies in the build, also for the sources.
const PROGRAM = fileURLToPath(new URL("../../dist/diffs/diff-worker-main.js", import.meta.url));
// The library looks at its clock only now and then.
const GRACE_MS = 5000;
const START_MS = 30_000;

/** Creates a differ. Its thread starts with the first diff. */
export function createDiffer({ program = PROGRAM, timeoutMs = 5000, totalMs = 30_000 }: DifferOptions = {}): Differ {
  let worker: Worker | undefined;
  let leftMs = totalMs;

  async function close(): Promise<void> {
    const ended = worker;
    worker = undefined;
    await ended?.terminate();
  }

  async function start(): Promise<Worker | undefined> {
    const started = new Worker(program);
    // One that fails while nobody waits must not end the process.
    started.on("error", () => undefined);
    worker = started;
    return (await waitFor(started, START_MS)) === undefined ? undefined : started;
  }

  async function ask(request: DiffRequest): Promise<readonly string[] | undefined> {
    const asked = worker ?? (await start());
    if (asked === undefined) return undefined;
    const answer = waitFor(asked, request.timeoutMs + GRACE_MS);
    asked.postMessage(request);
    return (await answer) as readonly string[] | undefined;
  }

  return {
    async diff(before, after) {
      if (leftMs <= 0) return replaceAll(before, after);
      const began = performance.now();
      const lines = await ask({ before, after, timeoutMs: Math.min(timeoutMs, leftMs) });
      leftMs -= performance.now() - began;
      if (lines !== undefined) return lines;
      await close();
      return replaceAll(before, after);
    },
    close,
  };
}

/** Resolves to the next message of a worker; to `undefined` if it fails, as without memory, or sends none in time. */
async function waitFor(worker: Worker, timeoutMs: number): Promise<unknown> {
  const ended = new AbortController();
  const { signal } = ended;
  const timer = setTimeout(() => ended.abort(), timeoutMs);
  try {
    const [message] = (await once(worker, "message", { signal })) as readonly unknown[];
    return message;
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
