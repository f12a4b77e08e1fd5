import { mkdir, mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import {
  type AgentProcess,
  type Command,
  createSessionId,
  type Exit,
  type Runner,
  type RunnerSession,
  type StartOptions,
} from "@budgie/core";
import { afterAll, expect } from "vitest";
import type { RunnerSetup, RunnerUnderTest } from "./runner-setup.ts";

/** A session, and methods that run shell scripts in it. */
export type ContractSession = {
  readonly runner: Runner;
  readonly session: RunnerSession;
  /** The workspace's path on the host */
  readonly directory: string;
  start(script: string, options?: ScriptOptions): Promise<AgentProcess>;
  run(script: string, options?: ScriptOptions): Promise<ScriptResult>;
  /** Ends the runner's owner like a crash */
  die(): Promise<void>;
};

export type ScriptOptions = Omit<Partial<StartOptions>, "directory"> & {
  readonly session?: RunnerSession;
  readonly directory?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly home?: Command["home"];
};

export type ScriptResult = { readonly stdout: Buffer; readonly stderr: Buffer; readonly exit: Exit };

/**
 * Opens a session of a new runner, with a workspace of its own. Its scripts get the home as `$1`, the workspace as `$2` and, by
 * default, an empty input.
 */
export async function openContractSession(setup: RunnerSetup): Promise<ContractSession & AsyncDisposable> {
  const under = await setup.create();
  const session = await under.runner.openSession(createSessionId());
  return { ...(await inNewWorkspace(under, session)), [Symbol.asyncDispose]: () => under[Symbol.asyncDispose]() };
}

/**
 * Opens a session for all tests of a `describe`, since a session costs more than a turn. Returns a function that gives each test
 * that session, with a workspace of the test's own, once the processes of earlier tests are gone.
 */
export function shareContractSession(setup: RunnerSetup): () => Promise<ContractSession> {
  let under: RunnerUnderTest | undefined;
  let session: RunnerSession | undefined;

  afterAll(() => under?.[Symbol.asyncDispose]());

  return async () => {
    under ??= await setup.create();
    session ??= await under.runner.openSession(createSessionId());
    const { id } = session;
    await expect.poll(async () => (await setup.leftovers(id)).running, { timeout: 15_000 }).toEqual([]);
    return inNewWorkspace(under, session);
  };
}

async function inNewWorkspace(under: RunnerUnderTest, session: RunnerSession): Promise<ContractSession> {
  const { runner, workspaceRoot } = under;
  const directory = await createWorkspace(workspaceRoot);

  function start(script: string, options: ScriptOptions = {}): Promise<AgentProcess> {
    return startScript(script, { session, directory, ...options });
  }

  return {
    runner,
    session,
    directory,
    die: () => under.die(),
    start,
    run: async (script, options) => readAll(await start(script, { input: "", ...options })),
  };
}

/** Creates a workspace of the test's own. */
export async function createWorkspace(root: string, name = "workspace"): Promise<string> {
  const directory = join(await mkdtemp(join(root, "budgie-contract-")), name);
  await mkdir(directory);
  return directory;
}

/** Starts a script in a session. */
export function startScript(
  script: string,
  options: ScriptOptions & { readonly session: RunnerSession; readonly directory: string },
): Promise<AgentProcess> {
  const { session, directory, env = {}, home, ...rest } = options;
  const paths = session.paths(directory);
  const argv = ["sh", "-c", script, "sh", paths.home, paths.workspace] as const;
  return session.start({ argv, env, projections: [], home }, { directory, ...rest });
}

/** Reads both streams of a process to their ends, concurrently. */
export async function readAll(process: AgentProcess): Promise<ScriptResult> {
  const [stdout, stderr, exit] = await Promise.all([
    readStream(process.stdout),
    readStream(process.stderr),
    process.exit,
  ]);
  return { stdout, stderr, exit };
}

/** Reads a live stream until `text` has arrived. */
export function readUntil(stream: Readable, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    const read = (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes(text)) {
        // Later data stays in the stream for the next reader.
        stream.off("data", read).pause();
        resolve(said);
      }
    };
    stream.on("data", read).resume();
    stream.once("close", () => reject(new Error(`The stream ended without ${JSON.stringify(text)}: ${said}`)));
  });
}

async function readStream(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
