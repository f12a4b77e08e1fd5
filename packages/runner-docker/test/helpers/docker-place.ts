import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type Docker from "dockerode";
import {
  createOwner,
  type Command,
  type Exit,
  type Owner,
  type Runner,
  type RunnerSession,
  type StartOptions,
} from "@budgie/core";
import { KIRO_HIDDEN_PATHS } from "@budgie/core/policy";
import { createKiroLogin, type Credentials, type DockerRunnerOptions } from "@budgie/runner-docker";
import { toEndedProcess } from "@budgie/testkit";
import { createDockerRunner, type RunnerParts } from "../../src/docker-runner.ts";
import { connectEngine } from "../../src/engine/engine.ts";

/** The image of the tests: a minimal Debian without anything of budgie's. */
export const BASE_IMAGE = process.env["BUDGIE_TEST_BASE_IMAGE"] ?? "budgie-base";
/** The image of the tests with the stand-in for kiro-cli. */
export const KIRO_IMAGE = process.env["BUDGIE_TEST_IMAGE"] ?? "budgie-demo:latest";

let connecting: Promise<Docker> | undefined;

/** Returns the engine of the tests, without the code under test. Connects only once, since that takes seconds on some engines. */
export function testEngine(): Promise<Docker> {
  return (connecting ??= connectEngine(process.env, process.env["HOME"] ?? "/root").then(({ docker }) => docker));
}

/** The options of a runner, and of its Kiro login. */
type PlaceOptions = Partial<DockerRunnerOptions> & {
  readonly kiroDataDir?: string;
  readonly credentials?: Credentials | undefined;
};

/** A host's folders that several runners share, as several budgies of one user do. */
export type DockerPlace = AsyncDisposable & {
  readonly root: string;
  readonly stateDir: string;
  readonly workspace: string;
  createRunner(
    options?: PlaceOptions,
    parts?: RunnerParts,
  ): Promise<{ readonly runner: Runner; readonly owner: Owner }>;
};

/** Creates a place below the temporary folder. Disposing it closes the runners and removes it. */
export function createDockerPlace(): DockerPlace {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "budgie-")));
  const [stateDir, workspace] = [join(root, "state"), join(root, "workspace")];
  const created: { readonly runner: Runner; readonly owner: Owner }[] = [];
  mkdirSync(workspace);
  return {
    root,
    stateDir,
    workspace,
    async createRunner({ credentials, kiroDataDir: dataDir = join(root, "no-kiro"), ...options } = {}, parts) {
      const owner = createOwner({ stateDir, process: toEndedProcess() });
      const runner = await createDockerRunner(
        {
          image: BASE_IMAGE,
          owner,
          stateDir,
          login: createKiroLogin({ dataDir, credentials }),
          home: process.env["HOME"] ?? "/root",
          hostEnv: process.env,
          acceptWeaker: ["limits", "seccomp", "ulimits"],
          ...options,
        },
        parts,
      );
      created.push({ runner, owner });
      return { runner, owner };
    },
    async [Symbol.asyncDispose]() {
      for (const { runner, owner } of created) {
        await runner.close();
        await owner.release();
      }
      rmSync(root, { recursive: true, force: true });
    },
  };
}

export type Ran = { readonly stdout: string; readonly stderr: string; readonly exit: Exit };

/** Runs a shell command in a session to its end, with a repository's definitions of Kiro's agents hidden. */
export function run(session: RunnerSession, directory: string, script: string): Promise<Ran> {
  return runCommand(
    session,
    { argv: ["sh", "-c", script], env: {}, projections: [], hidden: KIRO_HIDDEN_PATHS },
    { directory },
  );
}

/** Runs a command in a session to its end. */
export async function runCommand(session: RunnerSession, command: Command, options: StartOptions): Promise<Ran> {
  const child = await session.start(command, { input: "", ...options });
  const [stdout, stderr, exit] = await Promise.all([text(child.stdout), text(child.stderr), child.exit]);
  return { stdout, stderr, exit };
}
