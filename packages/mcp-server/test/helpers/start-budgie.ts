import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { deserializeMessage, serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { createHostHome, kiroCliPath, type HostHome, type HostHomeOptions } from "@budgie/testkit";

export const budgiePath = fileURLToPath(new URL("../../bin/budgie.js", import.meta.url));

type Ended = { readonly exitCode: number | null; readonly signal: string | null };

/** One call of the stand-in for kiro-cli, as it logged it itself. */
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
  /** Starts budgie, whatever it is to do */
  readonly launch: (argv: readonly string[], env?: Variables) => Budgie["child"];
  /** Runs budgie to its end, with nothing on stdin */
  readonly run: (argv: readonly string[], env?: Variables) => Promise<Finished>;
};

type Variables = Readonly<Record<string, string>>;

type StartOptions = {
  readonly args?: readonly string[];
  readonly env?: Variables;
  /** In place of `bin/budgie.js` */
  readonly program?: string;
  /** Run agents in a sandbox of the test image; default false */
  readonly sandbox?: boolean;
  /** What the client calls itself; default `test` */
  readonly clientName?: string;
};

// Tests use one engine at the same time, and some leave garbage there for the code that they test.
const NO_SWEEP: Variables = { BUDGIE_SWEEP_EVERY: "0" };

// As root, --sandbox needs allowed roots.
const AS_ROOT: Variables = process.getuid?.() === 0 ? { BUDGIE_ALLOW_ROOT: tmpdir() } : {};

/** A Debian with the stand-in for kiro-cli. */
export const TEST_IMAGE = process.env["BUDGIE_TEST_IMAGE"] ?? "budgie-demo:latest";

type Finished = Ended & { readonly stdout: string; readonly stderr: string };

/** A running budgie with a client of the official SDK. */
export type Budgie = {
  readonly client: Client;
  readonly child: ChildProcess & { readonly pid: number };
  readonly ended: Promise<Ended>;
  readonly stderr: () => string;
  /** Every line that came on stdout */
  readonly lines: readonly string[];
  /** Calls an agent's tool on the user's workspace */
  readonly ask: (
    agent: string,
    input: Readonly<Record<string, unknown>>,
    signal?: AbortSignal,
  ) => Promise<CallToolResult>;
};

export async function createBudgieUser(options: HostHomeOptions = {}): Promise<BudgieUser> {
  const host = await createHostHome(options);
  const workspace = join(host.home, "project");
  const kiroLog = join(host.home, "kiro-calls");
  mkdirSync(workspace);
  const started: Budgie[] = [];

  function launch(argv: readonly string[], env: Variables = {}, program = budgiePath): Budgie["child"] {
    const own = { PATH: process.env["PATH"] ?? "", HOME: host.home, FAKE_KIRO_LOG: kiroLog };
    const all = { ...own, ...(argv.some((word) => /^--?sandbox$/.test(word)) ? AS_ROOT : {}), ...env };
    const child = spawn(process.execPath, [program, ...argv], { env: all, stdio: "pipe" });
    return child as Budgie["child"];
  }

  return {
    host,
    workspace,
    sessionsDir: join(host.home, ".kiro", "sub-agents", "sessions"),
    kiroCalls: () => (existsSync(kiroLog) ? parseLines<KiroCall>(readFileSync(kiroLog, "utf8")) : []),
    async start({ args = [], clientName = "test", env = {}, program, sandbox = false } = {}) {
      const child = sandbox
        ? launch(
            ["--sandbox", "--sandbox-image", TEST_IMAGE, ...args],
            { ...toEngineVariables(), ...NO_SWEEP, ...env },
            program,
          )
        : launch(["--kiro-binary", kiroCliPath, "--env", "FAKE_KIRO_LOG", ...args], env, program);
      const budgie = await connect(child, { workspace, clientName });
      started.push(budgie);
      return budgie;
    },
    launch,
    async run(argv, env = {}) {
      const child = launch(argv, env);
      child.stdin?.end();
      const ended = toEnd(child);
      const [stdout, stderr] = await Promise.all([readAll(child.stdout), readAll(child.stderr)]);
      return { stdout, stderr, ...(await ended) };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(started.map(quit));
      await host[Symbol.asyncDispose]();
      for (const { lines } of started) for (const line of lines) deserializeMessage(line);
    },
  };
}

/** What leads to the engine: the test's own home may be where its context is. */
export function toEngineVariables(): Variables {
  const { env } = process;
  const names = Object.keys(env).filter((name) => name.startsWith("DOCKER_") || name === "XDG_RUNTIME_DIR");
  const passed = Object.fromEntries(names.map((name) => [name, env[name] ?? ""]));
  return { DOCKER_CONFIG: join(homedir(), ".docker"), ...passed };
}

/** Waits until `probe` answers with something, or fails after 10 s unless told otherwise. */
export async function waitFor<T>(
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  limitMs = 10_000,
): Promise<T> {
  for (const end = Date.now() + limitMs; Date.now() < end; await new Promise((wake) => setTimeout(wake, 20))) {
    const found = await probe();
    if (found !== undefined && found !== false) return found;
  }
  throw new Error(`Waited in vain for ${probe.toString()}`);
}

/** A process that ended and that nobody has asked about does not count. */
export function isAlive(pid: number): boolean {
  const status = `/proc/${pid}/status`;
  return existsSync(status) && !/^State:\s+[ZX]/m.test(readFileSync(status, "utf8"));
}

/** What a tool said, as text. */
export function toText({ content }: CallToolResult): string {
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

type Connecting = { readonly workspace: string; readonly clientName: string };

async function connect(child: Budgie["child"], { clientName, workspace }: Connecting): Promise<Budgie> {
  const lines: string[] = [];
  const errors: Buffer[] = [];
  child.stderr?.on("data", (piece: Buffer) => errors.push(piece));
  const stderr = (): string => Buffer.concat(errors).toString();
  const client = new Client({ name: clientName, version: "1.0.0" });
  await client.connect(createTransport(child, lines)).catch((cause: unknown) => {
    throw new Error(`budgie did not start: ${stderr()}`, { cause });
  });
  return {
    client,
    child,
    ended: toEnd(child),
    stderr,
    lines,
    async ask(agent, input, signal) {
      const call = { name: `kiro-subagents.${agent}`, arguments: { directory: workspace, ...input } };
      const options = signal === undefined ? {} : { signal };
      return (await client.callTool(call, undefined, options)) as CallToolResult;
    },
  };
}

/** The SDK's own transport hides the exit code and the lines. */
function createTransport({ stdin, stdout }: ChildProcess, lines: string[]): Transport {
  const transport: Transport = {
    async start() {
      let rest = "";
      stdout?.setEncoding("utf8").on("data", (piece: string) => {
        const parts = (rest + piece).split("\n");
        rest = parts.pop() ?? "";
        for (const line of parts) {
          lines.push(line);
          transport.onmessage?.(deserializeMessage(line));
        }
      });
      stdout?.on("close", () => transport.onclose?.());
      stdin?.on("error", () => undefined);
    },
    async send(message) {
      stdin?.write(serializeMessage(message));
    },
    async close() {
      stdin?.end();
    },
  };
  return transport;
}

async function toEnd(child: ChildProcess): Promise<Ended> {
  const [exitCode, signal] = (await once(child, "close")) as [number | null, string | null];
  return { exitCode, signal };
}

async function quit({ child, client, ended }: Budgie): Promise<void> {
  await client.close();
  child.stdin?.destroy();
  const killing = setTimeout(() => child.kill("SIGKILL"), 15_000);
  await ended;
  clearTimeout(killing);
}

function readAll(stream: NodeJS.ReadableStream | null): Promise<string> {
  return stream === null ? Promise.resolve("") : text(stream);
}

function parseLines<T>(content: string): readonly T[] {
  return content
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as T);
}
