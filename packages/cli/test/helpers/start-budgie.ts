import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { deserializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { CallToolResult, ElicitResult } from "@modelcontextprotocol/sdk/types.js";
import { connectClient, type Served } from "./connect-client.ts";
import { runHere, type Ended, type Program } from "./run-here.ts";
import { createHostHome, kiroCliPath, type HostHome, type HostHomeOptions } from "@budgie/testkit";

export type { Served } from "./connect-client.ts";

export const budgiePath = fileURLToPath(new URL("../../bin/budgie.js", import.meta.url));

/** One call of the stand-in for kiro-cli, as it recorded it. */
type KiroCall = {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly stdin: string;
  readonly env: Readonly<Record<string, string>>;
  readonly pid: number;
};

/** The user of a temporary home, and the budgies that they start. */
export type BudgieUser = AsyncDisposable & {
  readonly host: HostHome;
  /** An existing directory to work on */
  readonly workspace: string;
  readonly sessionsDir: string;
  readonly kiroCalls: () => readonly KiroCall[];
  readonly start: (options?: StartOptions) => Promise<Budgie>;
  /** Starts budgie with any arguments */
  readonly launch: (argv: readonly string[], env?: Variables) => Budgie["child"];
  /** Runs budgie to its end, with nothing on stdin */
  readonly run: (argv: readonly string[], env?: Variables) => Promise<Finished>;
  /** Serves in this process, where a start costs little; agents are still processes of their own */
  readonly serve: (options?: Omit<StartOptions, "program">) => Promise<Served>;
  /** Runs budgie to its end in this process, with nothing on stdin */
  readonly command: (argv: readonly string[], env?: Variables) => Promise<Finished>;
};

type Variables = Readonly<Record<string, string>>;

type StartOptions = {
  readonly args?: readonly string[];
  readonly env?: Variables;
  /** Replaces `bin/budgie.js` */
  readonly program?: string;
  /** Runs agents in a sandbox of the test image; default false */
  readonly sandbox?: boolean;
  /** The client's name; default `test` */
  readonly clientName?: string;
  /** Answers forms; without it the client shows none */
  readonly answerForm?: () => ElicitResult;
};

// Tests share one engine, and some leave garbage there for the code under test.
const NO_SWEEP: Variables = { BUDGIE_SWEEP_EVERY: "0" };

const LOCAL = ["--kiro-binary", kiroCliPath, "--env", "FAKE_KIRO_LOG"];

// As root, --sandbox needs allowed roots.
const AS_ROOT: Variables = process.getuid?.() === 0 ? { BUDGIE_ALLOW_ROOT: tmpdir() } : {};

/** A Debian with the stand-in for kiro-cli. */
export const TEST_IMAGE = process.env["BUDGIE_TEST_IMAGE"] ?? "budgie-demo:latest";

type Finished = Ended & { readonly stdout: string; readonly stderr: string };

/** A running budgie with a client of the official SDK. */
export type Budgie = Served & { readonly child: ChildProcess & { readonly pid: number } };

export async function createBudgieUser(options: HostHomeOptions = {}): Promise<BudgieUser> {
  const host = await createHostHome(options);
  const workspace = join(host.home, "project");
  const kiroLog = join(host.home, "kiro-calls");
  mkdirSync(workspace);
  const started: Served[] = [];

  function toEnv(argv: readonly string[], env: Variables): Variables {
    const own = { PATH: process.env["PATH"] ?? "", HOME: host.home, FAKE_KIRO_LOG: kiroLog };
    return { ...own, ...(argv.some((word) => /^--?sandbox$/.test(word)) ? AS_ROOT : {}), ...env };
  }

  function launch(argv: readonly string[], env: Variables = {}, program = budgiePath): Budgie["child"] {
    const child = spawn(process.execPath, [program, ...argv], { env: toEnv(argv, env), stdio: "pipe" });
    return child as Budgie["child"];
  }

  const launchHere = (argv: readonly string[], env: Variables = {}): Program =>
    runHere(argv, { env: toEnv(argv, env), home: host.home });

  return {
    host,
    workspace,
    sessionsDir: join(host.home, ".kiro", "sub-agents", "sessions"),
    kiroCalls: () => (existsSync(kiroLog) ? parseLines<KiroCall>(readFileSync(kiroLog, "utf8")) : []),
    async start({ answerForm, clientName = "test", program, ...options } = {}) {
      const child = launch(...toCommandLine(options), program);
      const budgie = { ...(await connectClient(toProgram(child), { workspace, clientName, answerForm })), child };
      started.push(budgie);
      return budgie;
    },
    async serve({ clientName = "test", ...options } = {}) {
      const served = await connectClient(launchHere(...toCommandLine(options)), { workspace, clientName });
      started.push(served);
      return served;
    },
    launch,
    run: (argv, env) => finish(toProgram(launch(argv, env))),
    command: (argv, env) => finish(launchHere(argv, env)),
    async [Symbol.asyncDispose]() {
      await Promise.all(started.map(quit));
      await host[Symbol.asyncDispose]();
      for (const { lines } of started) for (const line of lines) deserializeMessage(line);
    },
  };
}

function toCommandLine({ args = [], env = {}, sandbox = false }: StartOptions): [readonly string[], Variables] {
  if (!sandbox) return [[...LOCAL, ...args], env];
  return [["--sandbox", "--sandbox-image", TEST_IMAGE, ...args], { ...toEngineVariables(), ...NO_SWEEP, ...env }];
}

/** Returns the variables that select the engine, since the real home may contain its context. */
export function toEngineVariables(): Variables {
  const { env } = process;
  const names = Object.keys(env).filter((name) => name.startsWith("DOCKER_") || name === "XDG_RUNTIME_DIR");
  const passed = Object.fromEntries(names.map((name) => [name, env[name] ?? ""]));
  return { DOCKER_CONFIG: join(homedir(), ".docker"), ...passed };
}

/** The variables of commands that call agents in a sandbox, also as root. */
export const CALL_VARIABLES: Variables = { ...toEngineVariables(), ...NO_SWEEP, BUDGIE_ALLOW_ROOT: tmpdir() };

/** Waits until `probe` returns something, or fails after 30 s by default. */
export async function waitFor<T>(
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  limitMs = 30_000,
): Promise<T> {
  for (const end = Date.now() + limitMs; Date.now() < end; await new Promise((wake) => setTimeout(wake, 20))) {
    const found = await probe();
    if (found !== undefined && found !== false) return found;
  }
  throw new Error(`Waited in vain for ${probe.toString()}`);
}

/** Returns a tool's result as text, without the facts that budgie adds to an agent's answer. */
export function toText({ content }: CallToolResult): string {
  const texts = content.map((block) => (block.type === "text" ? block.text : ""));
  return (texts.at(-1)?.startsWith("\n\n[budgie] ") === true ? texts.slice(0, -1) : texts).join("");
}

function toProgram(child: ChildProcess): Program {
  const { stderr, stdin, stdout } = child as ChildProcess & Omit<Program, "ended">;
  const ended = once(child, "close").then(([exitCode, signal]) => ({ exitCode, signal }) as Ended);
  return { stdin, stdout, stderr, ended };
}

async function finish({ ended, stderr, stdin, stdout }: Program): Promise<Finished> {
  stdin.end();
  const [out, errors] = await Promise.all([text(stdout), text(stderr)]);
  return { stdout: out, stderr: errors, ...(await ended) };
}

async function quit(budgie: Served | Budgie): Promise<void> {
  const { client, ended } = budgie;
  const child = "child" in budgie ? budgie.child : undefined;
  await client.close();
  child?.stdin?.destroy();
  const killing = setTimeout(() => child?.kill("SIGKILL"), 15_000);
  await ended;
  clearTimeout(killing);
}

/** Parses the whole lines: another process may be writing the last one. */
function parseLines<T>(content: string): readonly T[] {
  return content
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as T);
}
