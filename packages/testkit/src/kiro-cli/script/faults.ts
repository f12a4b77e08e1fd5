import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { toExitError } from "../profile/exit-error.ts";
import { write, type Output } from "../output/output.ts";
import type { Profile } from "../profile/settings.ts";

/** The context of a fault. */
export type FaultContext = {
  readonly output: Output;
  readonly profile: Profile;
  /** Milliseconds, bytes, seconds, MiB or a character code, as the fault's comment says */
  readonly amount: number | undefined;
  readonly toolsUsed: boolean;
  /** Adds to the answer */
  readonly say: (text: string) => void;
  /** Prints the answer so far */
  readonly flush: () => Promise<void>;
};

/** A kind of misbehaviour. `end`: after the answer, and before the mark that the turn is complete. */
export type Fault = {
  readonly at: "in-place" | "end";
  readonly run: (context: FaultContext) => Promise<void>;
};

/** The faults by their names in `[[fault NAME]]` directives and `FAKE_KIRO_FAULT`. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  throttle: { at: "in-place", run: throttle },
  "network-down": { at: "in-place", run: networkDown },
  silent: { at: "in-place", run: silent },
  crash: { at: "in-place", run: crash },
  "kill-self": { at: "in-place", run: () => dieBy("SIGKILL", 137) },
  segv: { at: "in-place", run: () => dieBy("SIGSEGV", 139) },
  hang: { at: "in-place", run: hang },
  "slow-start": { at: "in-place", run: slowStart },
  "late-output": { at: "in-place", run: lateOutput },
  "huge-output": { at: "in-place", run: hugeOutput },
  flood: { at: "in-place", run: flood },
  "one-character": { at: "in-place", run: oneCharacter },
  "invalid-utf8": { at: "end", run: invalidUtf8 },
  "partial-line": { at: "end", run: partialLine },
  child: { at: "in-place", run: leaveChild },
  orphan: { at: "in-place", run: leaveOrphan },
  "clinging-orphan": { at: "in-place", run: leaveClingingOrphan },
  oom: { at: "in-place", run: outOfMemory },
  "oom-child": { at: "in-place", run: outOfMemoryChild },
  "no-run-finished": { at: "end", run: noRunFinished },
  "run-error": { at: "in-place", run: runError },
  refusal: { at: "in-place", run: refusal },
};

async function throttle({ profile, toolsUsed, output }: FaultContext): Promise<void> {
  const message = "Amazon Q rate limit reached:\nToo many requests, please wait before trying again.";
  if (output.fail) return output.fail(`Encountered an error in the response stream: ${message}`);
  await write(process.stderr, `⚠️  ${message}\n`);
  // After a tool call, the first engine ends a throttled turn as if it had waited for an approval.
  if (profile === "q1" && toolsUsed) throw toApprovalError();
  throw toExitError(0, "");
}

/** Ends a run like the first engine when no user can approve a tool. */
export function toApprovalError(): Error {
  return toExitError(
    1,
    "error: Tool approval required but --no-interactive was specified. " +
      "Use --trust-all-tools to automatically approve tools.",
  );
}

async function networkDown({ output }: FaultContext): Promise<void> {
  const message = "Kiro is having trouble responding right now: dispatch failure (io error): error trying to connect";
  if (output.fail) return output.fail(message);
  throw toExitError(0, message);
}

async function silent(): Promise<void> {
  throw toExitError(0, "");
}

async function crash(): Promise<void> {
  throw toExitError(
    101,
    "thread 'main' panicked at crates/chat-cli/src/cli/chat/input_source.rs:38:42:\n" +
      'called `Result::unwrap()` on an `Err` value: Os { code: 13, kind: PermissionDenied, message: "Permission denied" }',
  );
}

async function dieBy(signal: "SIGKILL" | "SIGSEGV", exitCode: number): Promise<void> {
  process.kill(process.pid, signal);
  await sleep(2000);
  // PID 1 of a container ignores signals that it sends itself.
  throw toExitError(exitCode, "");
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

/** Waits before it starts. Amount: ms */
async function slowStart({ amount = 3000 }: FaultContext): Promise<void> {
  await sleep(amount);
}

/** Prints a line, and waits before its answer. Amount: ms */
async function lateOutput({ amount = 3000, say, flush }: FaultContext): Promise<void> {
  say("Thinking about it.");
  await flush();
  await sleep(amount);
}

/** Prints lines of digits and letters. Amount: bytes */
async function hugeOutput({ amount = 2 * 1024 * 1024, say }: FaultContext): Promise<void> {
  const line = `${"0123456789abcdef".repeat(64).slice(1)}\n`;
  say(line.repeat(Math.ceil(amount / line.length)).slice(0, amount));
}

/** Prints a single line that is larger than its memory. Amount: MiB */
async function flood({ amount = 1024 }: FaultContext): Promise<void> {
  const piece = Buffer.alloc(1024 * 1024, "0123456789abcdef");
  for (let written = 0; written < amount; written++) await write(process.stdout, piece);
}

/** Prints 2 MiB of one character on each stream. Amount: its code */
async function oneCharacter({ amount = 13 }: FaultContext): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) await write(stream, Buffer.alloc(2 * 1024 * 1024, amount));
}

async function invalidUtf8(): Promise<void> {
  await write(process.stdout, Uint8Array.of(0x20, 0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80));
}

async function partialLine({ output }: FaultContext): Promise<void> {
  const half = output.format === "text" ? "\nand last, the most impor" : '{"type":"sessionUpdate","data":{"sess';
  await write(process.stdout, half);
  throw toExitError(0, "");
}

/** Starts a process in the agent's process group that holds its stdout. Amount: seconds */
async function leaveChild({ amount = 300 }: FaultContext): Promise<void> {
  spawn("sleep", [String(amount)], { stdio: ["ignore", "inherit", "inherit"] }).unref();
}

/** Starts a process in a session of its own without the agent's streams. Amount: seconds */
async function leaveOrphan({ amount = 300 }: FaultContext): Promise<void> {
  spawn("sleep", [String(amount)], { stdio: "ignore", detached: true }).unref();
}

/** Starts a process in a session of its own that holds the agent's stdout. Amount: seconds */
async function leaveClingingOrphan({ amount = 300 }: FaultContext): Promise<void> {
  spawn("sleep", [String(amount)], { stdio: ["ignore", "inherit", "inherit"], detached: true }).unref();
}

const BLOCK_BYTES = 16 * 1024 * 1024;

/** Allocates memory. Amount: MiB at which it stops, so that a host without a limit survives */
async function outOfMemory({ amount = 4096 }: FaultContext): Promise<void> {
  const blocks: Buffer[] = [];
  while (blocks.length * BLOCK_BYTES < amount * 1024 * 1024) blocks.push(Buffer.alloc(BLOCK_BYTES, 1));
  throw toExitError(1, `error: still alive with ${amount} MiB`);
}

/** Lets a tool of the agent run out of memory, while the agent lives on. Amount: MiB at which it stops */
async function outOfMemoryChild({ amount = 4096, say }: FaultContext): Promise<void> {
  const code = `const b = []; while (b.length * ${BLOCK_BYTES} < ${amount} * 2 ** 20) b.push(Buffer.alloc(${BLOCK_BYTES}, 1));`;
  const child = spawn(process.execPath, ["-e", code], { stdio: "ignore" });
  const [exitCode, signal] = (await once(child, "exit")) as [number | null, string | null];
  say(`The child ended with ${signal ?? exitCode}.`);
}

async function noRunFinished(): Promise<void> {
  throw toExitError(0, "");
}

async function runError({ output }: FaultContext): Promise<void> {
  const message = "Encountered an error in the response stream: the service ended it";
  if (output.fail) return output.fail(message);
  throw toExitError(1, `error: ${message}`);
}

async function refusal({ say, flush, output }: FaultContext): Promise<void> {
  say("The selected model cannot continue this conversation. Try another model, or start a new conversation.");
  await flush();
  await output.finish();
  throw toExitError(0, "");
}
