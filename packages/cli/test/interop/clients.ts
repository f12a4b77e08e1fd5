import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";

/** The official clients: four of the first SDK, and the second SDK with its two ways of talking to servers of the first. */
export const CLIENTS = ["sdk-1.12", "sdk-1.20", "sdk-1.29", "sdk-1.32", "v2-legacy", "v2-auto"] as const;

/** The address of a budgie for clients. */
export type Address =
  | { readonly command: string; readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> }
  | { readonly url: string; readonly token: string };

/** A budgie to which clients can connect. */
export type Served = { readonly address: Address; readonly end: () => Promise<unknown> };

export type Call = {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Resumes the session of the previous call */
  readonly resumes?: boolean;
  readonly options?: { readonly timeout?: number; readonly resetTimeoutOnProgress?: boolean };
};

/** A client's report. */
export type Seen = {
  readonly server: { readonly name: string; readonly version: string };
  /** MCP revision, if the client reports it */
  readonly revision?: string;
  readonly tools: readonly string[];
  readonly outcomes: readonly Outcome[];
};

export type Outcome = {
  readonly result?: CallToolResult;
  readonly error?: { readonly code: number | string; readonly message: string };
  readonly progress: readonly { readonly progress: number; readonly message?: string }[];
};

/** Makes one of the official clients list a budgie's tools and call some, one after the other. */
export async function runClient(client: string, server: Address, calls: readonly Call[]): Promise<Seen> {
  const program = [toInteropPath("call-tools.mjs"), client];
  const { exitCode, stderr, stdout } = await runProgram(program, { stdin: JSON.stringify({ server, calls }) });
  if (exitCode !== 0) throw new Error(`${client} ended with ${exitCode}: ${stderr}`);
  return JSON.parse(stdout) as Seen;
}

type ProgramOptions = {
  readonly cwd?: string;
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Default: this process's own */
  readonly node?: string;
};

type Finished = { readonly exitCode: number | null; readonly stdout: string; readonly stderr: string };

const LIMIT_MS = 150_000;

/** Runs a Node program to its end. */
export async function runProgram(
  argv: readonly string[],
  { cwd, env, node = process.execPath, stdin = "" }: ProgramOptions = {},
): Promise<Finished> {
  const child = spawn(node, argv, { cwd, env: { ...process.env, ...env }, stdio: "pipe", timeout: LIMIT_MS });
  child.stdin.on("error", () => undefined).end(stdin);
  const exitCode = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { exitCode: await exitCode, stdout, stderr };
}

/** Returns the result of a call, and fails if there is none. */
export function resultOf({ error, result }: Outcome): CallToolResult {
  if (result === undefined) throw new Error(`There is no result but ${JSON.stringify(error)}.`);
  return result;
}

/** Returns the session that a result names. */
export function toSessionId(result: CallToolResult | undefined): string {
  return String(result?.structuredContent?.["sessionId"]);
}

/** Returns the path of something in the folder of the clients. */
export function toInteropPath(path: string): string {
  return fileURLToPath(new URL(`../../../../interop/${path}`, import.meta.url));
}

// The files that scripts/interop-clients copies when it has provided the clients
const INSTALLED: Readonly<Record<string, readonly string[]>> = {
  "node_modules/.installed.json": ["package-lock.json"],
  "node_modules/.python/.installed": ["python/requirements.txt"],
  "node_modules/.go/.installed": ["go/go.mod", "go/go.sum", "go/main.go"],
  "node_modules/.rust/.installed": ["rust/Cargo.toml", "rust/Cargo.lock", "rust/main.rs"],
  "node_modules/.java/.installed": ["java/pom.xml", "java/CallTools.java"],
};

/** Fails before the tests if clients are missing, or have other versions than the lock files say. */
export function setup(): void {
  const isMissing = ([copy, files]: [string, readonly string[]]): boolean =>
    readOrNothing(copy) !== files.map(readOrNothing).join("");
  if (!Object.entries(INSTALLED).some(isMissing)) return;
  throw new Error('The clients that budgie is tested with are not installed. Run "scripts/interop-clients" first.');
}

function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(toInteropPath(path), "utf8");
  } catch {
    return undefined;
  }
}
