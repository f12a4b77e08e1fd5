import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createHostHome, kiroCliPath, type HostHome, type HostHomeOptions, type KiroProfile } from "@budgie/testkit";

type Run = {
  readonly stdout: string;
  readonly stderr: string;
  readonly bytes: Buffer;
  readonly exitCode: number | null;
  readonly signal: string | null;
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
  /** Default `v2` */
  readonly profile?: KiroProfile;
  readonly input?: string;
  readonly argv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
};

export async function createKiroUser(options: HostHomeOptions = {}): Promise<KiroUser> {
  const host = await createHostHome(options);
  const work = join(host.home, "work");
  await mkdir(work);

  function start(argv: readonly string[], { env, cwd = work, profile }: RunOptions = {}): ChildProcess {
    const own = { PATH: process.env["PATH"] ?? "", HOME: host.home, ...(profile && { FAKE_KIRO_PROFILE: profile }) };
    return spawn(kiroCliPath, argv, { cwd, env: { ...own, ...env }, stdio: "pipe" });
  }

  async function run(argv: readonly string[], runOptions: RunOptions = {}): Promise<Run> {
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
    return { stdout: bytes.toString(), stderr: Buffer.concat(err).toString(), bytes, exitCode, signal };
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
