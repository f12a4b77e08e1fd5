import { randomUUID } from "node:crypto";
import { lstat, stat } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import {
  BudgieError,
  type Command,
  type RunnerSession,
  type SessionId,
  type StartOptions,
  type StopReason,
} from "@budgie/core";
import { listSandboxOnly, splitHidden, type Access } from "@budgie/core/policy";
import { withStandby, type Standby, type StandbyPlace } from "@budgie/core/standby";
import { appendHomeFile, readHomeFile } from "./session/read-home-file.ts";
import type { LocalProcess, startLocalProcess } from "./turn/start-local-process.ts";

/** A session of this process that the runner can also end between turns. */
export type LocalSession = RunnerSession & {
  /** Stops its processes, and rejects further starts. */
  end(reason: StopReason): Promise<void>;
};

type LocalOptions = {
  readonly id: SessionId;
  readonly home: string;
  readonly hostEnv: Readonly<Record<string, string>>;
  /** Removes the home, after its processes have ended */
  readonly removeHome: () => Promise<void>;
  /** The place of the process that its next turn takes; `undefined` if processes end with their turns */
  readonly standby?: StandbyPlace<Standby> | undefined;
};

/** Creates a session whose home exists. */
export function createLocalSession({ id, home, hostEnv, removeHome, standby }: LocalOptions): LocalSession {
  const running = new Set<LocalProcess>();
  let isEnded = false;

  async function end(reason: StopReason): Promise<void> {
    isEnded = true;
    await Promise.all([standby?.close(), ...Array.from(running, (process) => process.stop(reason))]);
  }

  function launch(start: typeof startLocalProcess, command: Command, { input, signal }: StartOptions): LocalProcess {
    const turn = randomUUID();
    // Last, so that no command overrides the marks that an agent's processes are found by.
    const env = { ...hostEnv, ...command.env, BUDGIE_SESSION: id, BUDGIE_TURN: turn };
    const process = start({ argv: command.argv, env, cwd: home, mark: `BUDGIE_TURN=${turn}`, input });
    // `exit` reports the failure.
    const cancel = () => void process.stop("cancelled").catch(() => undefined);
    const forget = () => {
      running.delete(process);
      signal?.removeEventListener("abort", cancel);
    };
    running.add(process);
    signal?.addEventListener("abort", cancel);
    process.exit.then(forget, forget);
    return process;
  }

  const session: LocalSession = {
    id,
    paths: (directory) => ({ workspace: directory, home }),
    async start(command, options) {
      rejectProtectedPaths(options);
      rejectMissingProtections(options.access);
      await checkDirectory(options.directory);
      // A session that ends meanwhile loses its folder.
      await checkHome(home).catch((error: unknown) => {
        throw isEnded ? endedError(id) : error;
      });
      await options.ready;
      await rejectPlanted(home, command);
      // Imported here since it loads execa, which a server that only lists its tools does not need.
      const { startLocalProcess } = await import("./turn/start-local-process.ts");
      if (options.signal?.aborted) throw new BudgieError("CANCELLED", "The turn was cancelled before it started.");
      if (isEnded) throw endedError(id);
      const process = launch(startLocalProcess, command, options);
      await process.started;
      return process;
    },
    readFile: (name) => readHomeFile(home, name),
    appendFile: (name, text) => appendHomeFile(home, name, text),
    async remove() {
      await end("shutdown");
      await removeHome();
    },
    end,
  };
  return standby === undefined ? session : withStandby(session, standby);
}

function rejectProtectedPaths({ protectedPaths = [] }: StartOptions): void {
  if (protectedPaths.length === 0) return;
  throw new BudgieError("CONFIG_INVALID", "Without a sandbox no file can be protected. Run the agent in a sandbox.");
}

const PROTECTIONS = {
  workspace: "a copy of the workspace, or a read-only one",
  egress: "a bounded network",
  limits: "limits",
} as const;

/** Throws for requested protections: without a sandbox there are none, and ignoring the request would be worse than failing. */
function rejectMissingProtections(access: Access | undefined): void {
  if (access === undefined) return;
  const missing = listSandboxOnly(access).map((protection) => PROTECTIONS[protection]);
  if (missing.length === 0) return;
  throw new BudgieError(
    "INPUT_INVALID",
    `Without a sandbox nothing can enforce ${missing.join(" and ")}. Ask without that, or run the agent in a sandbox.`,
  );
}

async function checkDirectory(directory: string): Promise<void> {
  const found = await stat(directory).catch(() => undefined);
  if (isAbsolute(directory) && found?.isDirectory()) return;
  throw new BudgieError(
    "WORKSPACE_INVALID",
    `The workspace ${JSON.stringify(directory)} is not an existing directory. Pass the absolute path of one.`,
  );
}

function endedError(id: string): BudgieError {
  return new BudgieError("CANCELLED", `The session ${id} has ended. Begin a new session.`);
}

// The system reports a missing working directory like a missing command.
async function checkHome(home: string): Promise<void> {
  const found = await lstat(home).catch(() => undefined);
  if (found?.isDirectory()) return;
  throw new BudgieError("SESSION_UNUSABLE", `The session's folder "${home}" is gone. Begin a new session.`);
}

/** Rejects a home with a folder that the command hides: programs read it, so a turn could give the next one more tools. */
async function rejectPlanted(home: string, command: Command): Promise<void> {
  const paths = Object.keys(splitHidden(command).ofHome).map((folder) => join(home, folder));
  const found = await Promise.all(paths.map((path) => lstat(path).catch(() => undefined)));
  const planted = paths.find((_, index) => found[index] !== undefined);
  if (planted === undefined) return;
  throw new BudgieError(
    "SESSION_UNUSABLE",
    `The agent made "${planted}", from which its next turn could take other agents, tools or settings. Begin a new session.`,
  );
}
