import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createHostHome, kiroCliPath, type HostHome, type HostHomeOptions } from "@budgie/testkit";

type Run = {
  readonly stdout: string;
  readonly stderr: string;
  readonly bytes: Buffer;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly durationMs: number;
};

/** A home with a work folder, and functions that run the stand-in there. */
export type KiroUser = AsyncDisposable & {
  readonly host: HostHome;
  readonly work: string;
  readonly start: (argv: readonly string[], options?: RunOptions) => ChildProcess;
  readonly run: (argv: readonly string[], options?: RunOptions) => Promise<Run>;
  /** Runs `chat --no-interactive` with the prompt on stdin */
  readonly chat: (prompt: string, options?: RunOptions) => Promise<Run>;
};

export type RunOptions = {
  readonly input?: string;
  readonly argv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
};

export async function createKiroUser(options: HostHomeOptions = {}): Promise<KiroUser> {
  const host = await createHostHome(options);
  const work = join(host.home, "work");
  await mkdir(work);

  function start(argv: readonly string[], { env, cwd = work }: RunOptions = {}): ChildProcess {
    const PATH = process.env["PATH"] ?? "";
    return spawn(kiroCliPath, argv, { cwd, env: { PATH, HOME: host.home, ...env }, stdio: "pipe" });
  }

  async function run(argv: readonly string[], runOptions: RunOptions = {}): Promise<Run> {
    const started = performance.now();
    const child = start(argv, runOptions);
    // A program may end before it reads its input.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(runOptions.input ?? "");
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout?.on("data", (piece: Buffer) => out.push(piece));
    child.stderr?.on("data", (piece: Buffer) => err.push(piece));
    const [exitCode, signal] = (await once(child, "close")) as [number | null, string | null];
    const bytes = Buffer.concat(out);
    const durationMs = performance.now() - started;
    return { stdout: bytes.toString(), stderr: Buffer.concat(err).toString(), bytes, exitCode, signal, durationMs };
  }

  return {
    host,
    work,
    start,
    run,
    chat: (prompt, runOptions = {}) =>
      run(["chat", "--no-interactive", ...(runOptions.argv ?? [])], { ...runOptions, input: prompt }),
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}

export const MARKER = "\u001B[38;5;141m> \u001B[0m";

/** Parses the events of a stream-json run, without a truncated last line. */
export function parseEvents(stdout: string) {
  const lines = stdout.split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as { type: string; data: Record<string, unknown> });
}

export const JSON_OUTPUT: RunOptions = {
  argv: ["--output-format", "stream-json"],
  env: { FAKE_KIRO_PROFILE: "v2json" },
};
