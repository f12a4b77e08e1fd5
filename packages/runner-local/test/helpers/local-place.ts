import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createOwner, createSessionId, type Exit, type Owner, type Runner, type SessionId } from "@budgie/core";
import { createLocalRunner, type LocalRunnerOptions } from "@budgie/runner-local";
import { toEndedProcess } from "@budgie/testkit";
import { removeTree } from "../../src/maintenance/remove-tree.ts";

/** Presence of `/proc`, which Linux has and macOS lacks. */
export const hasProcessTable = existsSync("/proc/self/environ");

/** The folders that several runners share, like several budgies of one user. */
export type LocalPlace = {
  readonly [Symbol.asyncDispose]: () => Promise<void>;
  readonly root: string;
  readonly sessionsDir: string;
  readonly stateDir: string;
  readonly workspace: string;
  createRunner(
    env?: readonly string[],
    options?: Partial<LocalRunnerOptions>,
  ): { readonly runner: Runner; readonly owner: Owner };
};

type RunResult = { readonly id: SessionId; readonly stdout: string; readonly exit: Exit };

/** Creates a place below the temporary folder; disposal closes its runners and removes it. */
export function createLocalPlace(): LocalPlace {
  // A short name, since socket paths are limited in length.
  const root = realpathSync(mkdtempSync(join(tmpdir(), "budgie-")));
  const [sessionsDir, stateDir, workspace] = [join(root, "sessions"), join(root, "state"), join(root, "workspace")];
  const created: { readonly runner: Runner; readonly owner: Owner }[] = [];
  mkdirSync(workspace);

  return {
    root,
    sessionsDir,
    stateDir,
    workspace,
    createRunner(env = [], options = {}) {
      const owner = createOwner({ stateDir, process: toEndedProcess() });
      const runner = createLocalRunner({ sessionsDir, stateDir, owner, hostEnv: process.env, env, ...options });
      created.push({ runner, owner });
      return { runner, owner };
    },
    async [Symbol.asyncDispose]() {
      for (const { runner, owner } of created) {
        await runner.close();
        await owner.release();
      }
      await removeTree(root);
    },
  };
}

/** Runs a command in a session of a runner of its own. */
export async function openAndRun(place: LocalPlace, argv: readonly [string, ...string[]]): Promise<RunResult> {
  const session = await place.createRunner().runner.openSession(createSessionId());
  const process = await session.start({ argv, env: {}, projections: [] }, { directory: place.workspace, input: "" });
  process.stderr.resume();
  const [stdout, exit] = await Promise.all([text(process.stdout), process.exit]);
  return { id: session.id, stdout, exit };
}

/** Lists the living processes with a session's mark, without the code under test. */
export function findProcesses(id: SessionId): readonly string[] {
  if (!hasProcessTable) return [];
  return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && read(`/proc/${pid}/environ`).includes(id));
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
