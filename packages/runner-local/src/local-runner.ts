import { lstat, mkdir } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { join, resolve } from "node:path";
import {
  BudgieError,
  type Capacity,
  type Command,
  type Owner,
  type Runner,
  type SessionId,
  formatOption,
} from "@budgie/core";
import { createStandbys } from "@budgie/core/standby";
import { collectGarbage } from "./maintenance/collect-garbage.ts";
import { endSessionProcesses } from "./session/end-session-processes.ts";
import { pickHostEnvironment } from "./turn/pick-host-environment.ts";
import { isThere, listSessions } from "./maintenance/list-sessions.ts";
import { createLocalSession, type LocalSession } from "./local-session.ts";
import { removeTree } from "./maintenance/remove-tree.ts";
import { createSessionRegister } from "./session/session-register.ts";
import type { LocalProcess } from "./turn/start-local-process.ts";

export type LocalRunnerOptions = {
  /** The folder that holds a home for each session */
  readonly sessionsDir: string;
  /** The folder of the register of sessions and owners; no agent may write to it */
  readonly stateDir: string;
  /** Owner of the sessions that this runner opens; the caller releases it after `close` */
  readonly owner: Owner;
  /** The environment of which a small part is passed to agents, usually `process.env` */
  readonly hostEnv: NodeJS.ProcessEnv;
  /** Further variables of `hostEnv` to pass to agents */
  readonly env?: readonly string[] | undefined;
  /** Time after its last use during which another runner can resume a session; without it, sessions end with this runner */
  readonly keepSessionsMs?: number | undefined;
  /** Time for which a process may stand by for its session's next turn; default none */
  readonly warmIdleMs?: number | undefined;
};

/**
 * Creates a runner of plain processes of this user, with a folder for each session. It is not a sandbox: it stops what it
 * started and hides most of the host's environment, but an agent reads and writes whatever this user can.
 */
export function createLocalRunner(options: LocalRunnerOptions): Runner {
  const sessionsDir = resolve(options.sessionsDir);
  const stateDir = resolve(options.stateDir);
  const { keepSessionsMs: keepMs, owner } = options;
  const hostEnv = pickHostEnvironment(options.hostEnv, options.env ?? []);
  const register = createSessionRegister(stateDir);
  const sessions = new Map<SessionId, Promise<LocalSession>>();
  const passing = new Set<SessionId>();
  const printing = new Set<LocalProcess>();
  const standbys = options.warmIdleMs ? createStandbys({ idleMs: options.warmIdleMs }) : undefined;
  let closing: Promise<void> | undefined;

  async function open(id: SessionId, isKept: boolean): Promise<LocalSession> {
    await owner.hold();
    const home = join(sessionsDir, id);
    if ((await register.find(id)) !== undefined || (await isThere(home))) throw notOurs(id);
    await makeFolder(sessionsDir);
    // Written before the home is created: garbage collection finds homes by the register only.
    await register.write({ id, home, owner: owner.record, created: new Date(), keepMs: isKept ? keepMs : undefined });
    if (!isKept) passing.add(id);
    await mkdir(home, { mode: 0o700 });
    return enter(id, home);
  }

  async function resume(id: SessionId): Promise<LocalSession> {
    await owner.hold();
    const entry = await register.find(id);
    if (entry === undefined || !(await isFolder(entry.home))) throw folderMissing(id);
    if (!["dead", "own"].includes(await owner.stateOf(entry.owner, "state-directory"))) throw notOurs(id);
    await endSessionProcesses(id);
    await register.write({ ...entry, owner: owner.record, keepMs });
    return enter(id, entry.home);
  }

  function enter(id: SessionId, home: string): LocalSession {
    async function removeHome(): Promise<void> {
      await removeTree(home);
      await register.remove(id);
      sessions.delete(id);
    }
    return createLocalSession({ id, home, hostEnv, removeHome, standby: standbys?.open() });
  }

  function remember(id: SessionId, make: () => Promise<LocalSession>): Promise<LocalSession> {
    if (closing !== undefined) throw new BudgieError("RUNNER_UNAVAILABLE", "budgie is shutting down. Start it again.");
    const opened = sessions.get(id) ?? make();
    sessions.set(id, opened);
    opened.catch(() => sessions.delete(id));
    return opened;
  }

  async function print(argv: Command["argv"]): Promise<string> {
    const { printFromProcess } = await import("./turn/print-from-process.ts");
    if (closing !== undefined) throw new BudgieError("CANCELLED", "budgie is shutting down.");
    return printFromProcess({ argv, env: hostEnv, printing });
  }

  async function close(): Promise<void> {
    const stopPrinting = Promise.all(Array.from(printing, (process) => process.stop("shutdown")));
    const opened = await Promise.allSettled(sessions.values());
    const endSession = (session: LocalSession): Promise<void> =>
      keepMs === undefined || passing.has(session.id) ? session.remove() : session.end("shutdown");
    await Promise.all([
      stopPrinting,
      ...opened.map(async (result) => (result.status === "fulfilled" ? endSession(result.value) : undefined)),
    ]);
  }

  return {
    isolation: "none",
    notices: [],
    guarded: [],
    capacity: readCapacity(),
    print,
    openSession: async (id, { isKept = true } = {}) => remember(id, () => open(id, isKept)),
    resumeSession: async (id) => remember(id, () => resume(id)),
    listSessions: () => listSessions(register, owner),
    collectGarbage: (policy) => collectGarbage({ register, owner }, policy),
    close: () => (closing ??= close()),
  };
}

/** Reads the capacity of this machine, or of this process's cgroup. */
function readCapacity(): Capacity {
  // 0 or more than the machine has means no limit.
  const constrained = process.constrainedMemory() || Number.POSITIVE_INFINITY;
  return { cpus: availableParallelism(), memoryBytes: Math.min(totalmem(), constrained) };
}

async function isFolder(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined))?.isDirectory() === true;
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const message = `Cannot make the folder of the sessions "${path}" (${code}). Name another with ${formatOption("sessionsDir")}.`;
    throw new BudgieError("CONFIG_INVALID", message, { cause });
  }
}

function folderMissing(id: SessionId): BudgieError {
  return new BudgieError(
    "SESSION_NOT_FOUND",
    `The folder of the session ${id} is gone. Leave the session id out to begin a new session.`,
  );
}

function notOurs(id: SessionId): BudgieError {
  return new BudgieError(
    "SESSION_NOT_FOUND",
    `The session ${id} does not belong to this budgie. Leave the session id out to begin a new session.`,
  );
}
