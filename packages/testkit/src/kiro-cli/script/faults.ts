import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { toExitError } from "../profile/exit-error.ts";
import { write, type Output } from "../output/output.ts";

/** The context of a fault. */
type FaultContext = {
  readonly output: Output;
  /** Milliseconds, bytes, seconds, MiB or a character code, as the fault's comment says; `NaN` if left out */
  readonly amount: number;
  /** Adds to the answer */
  readonly say: (text: string) => void;
};

/** A kind of misbehaviour. */
export type Fault = (context: FaultContext) => Promise<unknown>;

/** The faults by their names in `[[fault NAME]]` directives. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  throttle,
  silent: () => end(0, ""),
  crash: () => end(101, "thread 'main' panicked at crates/chat-cli/src/cli/chat/input_source.rs:38:42"),
  "kill-self": () => dieBy("SIGKILL", 137),
  segv: () => dieBy("SIGSEGV", 139),
  hang,
  // Amount: ms
  "slow-start": ({ amount }) => sleep(amount),
  // Amount: bytes
  "huge-output": async ({ amount, say }) => say("0123456789abcde\n".repeat(Math.ceil(amount / 16)).slice(0, amount)),
  flood,
  "one-character": oneCharacter,
  "invalid-utf8": () => write(process.stdout, Uint8Array.of(0x20, 0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80)),
  "partial-line": () => write(process.stdout, "\nand last, the most impor").then(() => end(0, "")),
  // Processes that outlive the run: in the agent's group with its stdout, in a session of their own without it, and with it.
  child: ({ amount }) => leave(amount, { holds: true, detached: false }),
  orphan: ({ amount }) => leave(amount, { holds: false, detached: true }),
  "clinging-orphan": ({ amount }) => leave(amount, { holds: true, detached: true }),
  oom: outOfMemory,
};

/** The faults that come after the answer, and before the mark that the turn is complete. */
export const LATE_FAULTS: ReadonlySet<string> = new Set(["invalid-utf8", "partial-line"]);

async function throttle({ output }: FaultContext): Promise<void> {
  const message = "Amazon Q rate limit reached:\nToo many requests, please wait before trying again.";
  if (output.fail) return output.fail(`Encountered an error in the response stream: ${message}`);
  return end(0, `⚠️  ${message}`);
}

async function end(exitCode: number, message: string): Promise<never> {
  throw toExitError(exitCode, message);
}

async function dieBy(signal: "SIGKILL" | "SIGSEGV", exitCode: number): Promise<void> {
  process.kill(process.pid, signal);
  await sleep(2000);
  // PID 1 of a container ignores signals that it sends itself.
  await end(exitCode, "");
}

async function hang(): Promise<void> {
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.removeAllListeners(signal);
    process.on(signal, () => undefined);
  }
  // Also ignores a client that cancels its turn, or has disconnected.
  process.stdin.removeAllListeners();
  for (;;) await sleep(60_000);
}

const MIB = 1024 * 1024;

/** Prints a single line that is larger than its memory. Amount: MiB */
async function flood({ amount }: FaultContext): Promise<void> {
  const piece = Buffer.alloc(MIB, "0123456789abcdef");
  for (let written = 0; written < (amount || 1024); written++) await write(process.stdout, piece);
}

/** Prints 2 MiB of one character on each stream. Amount: its code */
async function oneCharacter({ amount }: FaultContext): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) await write(stream, Buffer.alloc(2 * MIB, amount));
}

/** Starts a process that outlives the run. Amount: seconds */
async function leave(amount: number, { detached, holds }: { detached: boolean; holds: boolean }): Promise<void> {
  const streams = holds ? "inherit" : "ignore";
  spawn("sleep", [String(amount || 300)], { stdio: ["ignore", streams, streams], detached }).unref();
}

/** Allocates memory. Amount: MiB at which it stops, so that a host without a limit survives */
async function outOfMemory({ amount }: FaultContext): Promise<void> {
  const blocks: Buffer[] = [];
  while (blocks.length * 16 < (amount || 4096)) blocks.push(Buffer.alloc(16 * MIB, 1));
  await end(1, "error: still alive");
}
