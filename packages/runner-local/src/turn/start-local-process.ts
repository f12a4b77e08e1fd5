import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { PassThrough, type Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { type AgentProcess, BudgieError, type Exit, type StopReason } from "@budgie/core";
import { execa } from "execa";
import { createProcessFamily } from "./process-family.ts";

/** The complete description of a process to start. */
export type LocalCommand = {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** `NAME=value` of a variable in `env` that is unique to this start */
  readonly mark: string;
  readonly input: string | undefined;
};

// A shutdown must be short: MCP clients kill budgie 4 s after they close its stdin.
const GRACE_MS: Readonly<Record<StopReason, number>> = { timeout: 5_000, cancelled: 5_000, shutdown: 2_000 };
// A background process of a turn, such as the `tee` of its output, may finish first; then it gets SIGTERM, then SIGKILL.
const LINGER_MS = 200;
const LEFTOVER_GRACE_MS = 500;
const DRAIN_MS = 100;
const DRAIN_ROUNDS = 10;
// Three socket pairs, the temporary ones of spawn(2), and some for concurrent file access
const SPAWN_DESCRIPTORS = 16;
// More than any kernel buffers in a pipe
const MAX_PIPE_BYTES = 2 * 1024 * 1024;

/** A process that is running, or that the system refused to start. */
export type LocalProcess = AgentProcess & {
  /** Rejects if the system could not start it */
  readonly started: Promise<void>;
};

/** Starts a process in a group of its own. Its whole family has ended when `exit` resolves. */
export function startLocalProcess({ argv, env, cwd, mark, input }: LocalCommand): LocalProcess {
  const [file, ...args] = argv;
  checkDescriptors(file);
  const child = execa(file, args, {
    cwd,
    env,
    extendEnv: false,
    detached: true,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    buffer: false,
    stripFinalNewline: false,
    reject: false,
  });
  // At once: execa discards the output of a stream without a reader by the next tick.
  const stdout = child.stdout.pipe(new PassThrough());
  const stderr = child.stderr.pipe(new PassThrough());
  // A process that does not read its input is not an error.
  child.stdin.on("error", () => {});

  if (child.pid === undefined) {
    stdout.end();
    stderr.end();
    const exit = child.then(({ code, cause }) => commandNotFound(file, code, cause));
    const started = exit.then(() => {});
    return { stdin: child.stdin, stdout, stderr, exit, started, stop: () => started };
  }

  const family = createProcessFamily({ mark, leader: child.pid });
  const unwatch = family.watch();
  const exited = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  let stopped: { readonly reason: StopReason; readonly end: Promise<void> } | undefined;
  let hasExited = false;
  if (input !== undefined) child.stdin.end(input);

  async function awaitExit(): Promise<Exit> {
    const [exitCode, signal] = await exited;
    hasExited = true;
    if (stopped !== undefined) await stopped.end;
    else if (!(await family.waitUntilGone(LINGER_MS))) await family.end(LEFTOVER_GRACE_MS);
    await Promise.all([drain(child.stdout, stdout), drain(child.stderr, stderr)]);
    const reason = stopped?.reason;
    return { exitCode: exitCode ?? undefined, signal: signal ?? undefined, reason, oomKilled: false };
  }

  // A process that cannot be killed never exits, so `exit` rejects instead.
  let giveUp: (error: unknown) => void = () => undefined;
  const givenUp = new Promise<never>((_resolve, reject) => void (giveUp = reject));
  const exit = Promise.race([awaitExit(), givenUp]).finally(unwatch);
  exit.catch(() => [child.stdout, child.stderr].forEach((stream) => stream.destroy()));
  return {
    stdin: child.stdin,
    stdout,
    stderr,
    exit,
    started: Promise.resolve(),
    async stop(reason) {
      if (!hasExited && stopped === undefined) {
        stopped = { reason, end: family.end(GRACE_MS[reason]) };
        stopped.end.catch(giveUp);
      }
      // A shutdown shortens the grace period of a running cancellation.
      else if (!hasExited && reason === "shutdown") await family.end(GRACE_MS.shutdown).catch(giveUp);
      await exit;
    },
  };
}

/** Throws if no descriptors are left. execa would leave the child's `error` event unhandled, which ends this process. */
function checkDescriptors(file: string): void {
  const opened: number[] = [];
  try {
    while (opened.length < SPAWN_DESCRIPTORS) opened.push(openSync("/dev/null", "r"));
  } catch (cause) {
    throw cannotStart(file, (cause as NodeJS.ErrnoException).code, cause);
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

const NOT_EXECUTABLE = new Set(["ENOENT", "EACCES", "ENOTDIR", "ENOEXEC"]);

function commandNotFound(file: string, code: string | undefined, cause: unknown): Exit {
  if (NOT_EXECUTABLE.has(code ?? "")) {
    return { exitCode: undefined, signal: undefined, reason: "command-not-found", oomKilled: false };
  }
  throw cannotStart(file, code, cause);
}

function cannotStart(file: string, code: string | undefined, cause: unknown): BudgieError {
  const message = `Cannot start "${file}" (${code}). Check the limits of this user with "ulimit -a".`;
  return new BudgieError("RUNNER_UNAVAILABLE", message, { cause });
}

/** Ends `copy` with the rest of a dead process's pipe, also if `copy` has no reader or an escaped process keeps the pipe open. */
async function drain(source: Readable, copy: PassThrough): Promise<void> {
  if (copy.writableEnded) return;
  let bytes = 0;
  source.unpipe(copy);
  source.on("data", (chunk: Buffer) => {
    copy.write(chunk);
    bytes += chunk.length;
    if (bytes > MAX_PIPE_BYTES) source.destroy();
  });
  source.resume();
  const closed = new Promise((resolve) => source.once("close", resolve));
  // Two quiet rounds, since a busy event loop may run a timer before it polls the pipe.
  for (let quiet = 0, round = 0; quiet < 2 && round < DRAIN_ROUNDS && !source.closed; round += 1) {
    const before = bytes;
    await Promise.race([closed, sleep(DRAIN_MS)]);
    quiet = bytes === before ? quiet + 1 : 0;
  }
  source.destroy();
  copy.end();
}
