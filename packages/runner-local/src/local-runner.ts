import { lstat, mkdir } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { join, resolve } from "node:path";
import { BudgieError, type Capacity, type Owner, type Runner, type SessionId } from "@budgie/core";
import { collectGarbage } from "./maintenance/collect-garbage.ts";
import { endSessionProcesses } from "./session/end-session-processes.ts";
import { toHostEnvironment } from "./turn/host-environment.ts";
import { isThere, listSessions } from "./maintenance/list-sessions.ts";
import { createLocalSession, type LocalSession } from "./local-session.ts";
import { removeTree } from "./maintenance/remove-tree.ts";
import { createSessionLedger } from "./session/session-register.ts";

export type LocalRunnerOptions = {
  /** The folder that holds a home for each session */
  readonly sessionsDir: string;
  /** Where it is recorded who owns which home; no agent has business there */
  readonly stateDir: string;
  /** Who owns the sessions that this runner opens; the caller releases it after `close` */
  readonly owner: Owner;
  /** The environment from which a small part is passed on, usually `process.env` */
  readonly hostEnv: NodeJS.ProcessEnv;
  /** More names of `hostEnv` to pass on */
  readonly env?: readonly string[] | undefined;
  /** How long sessions are kept for another runner to resume, from their last use; left out, they end with this one */
  readonly keepSessionsMs?: number | undefined;
};

/**
 * Runs agents as plain processes of this user, each session in a folder of its own. It is not a sandbox: it stops what it
 * started and keeps the host's environment to itself, but an agent reads and writes whatever this user can.
 */
export function createLocalRunner(options: LocalRunnerOptions): Runner {
  const sessionsDir = resolve(options.sessionsDir);
  const stateDir = resolve(options.stateDir);
  const { keepSessionsMs: keepMs, owner } = options;
  const hostEnv = toHostEnvironment(options.hostEnv, options.env ?? []);
  const ledger = createSessionLedger(stateDir);
  const sessions = new Map<SessionId, Promise<LocalSession>>();
  let closing: Promise<void> | undefined;

  async function open(id: SessionId): Promise<LocalSession> {
    await owner.hold();
    const home = join(sessionsDir, id);
    if ((await ledger.find(id)) !== undefined || (await isThere(home))) throw notOurs(id);
    await makeFolder(sessionsDir);
    // Recorded first: a home without a record would never be collected.
    await ledger.write({ id, home, owner: owner.record, created: new Date(), keepMs });
    await mkdir(home, { mode: 0o700 });
    return enter(id, home);
  }

  async function resume(id: SessionId): Promise<LocalSession> {
    await owner.hold();
    const entry = await ledger.find(id);
    if (entry === undefined || !(await isFolder(entry.home))) throw gone(id);
    if (!["dead", "own"].includes(await owner.stateOf(entry.owner, "state-directory"))) throw notOurs(id);
    await endSessionProcesses(id);
    await ledger.write({ ...entry, owner: owner.record, keepMs });
    return enter(id, entry.home);
  }

  function enter(id: SessionId, home: string): LocalSession {
    async function removeHome(): Promise<void> {
      await removeTree(home);
      await ledger.remove(id);
      sessions.delete(id);
    }
    return createLocalSession({ id, home, hostEnv, removeHome });
  }

  function remember(id: SessionId, make: (id: SessionId) => Promise<LocalSession>): Promise<LocalSession> {
    if (closing !== undefined) throw new BudgieError("RUNNER_UNAVAILABLE", "budgie is shutting down. Start it again.");
    const opened = sessions.get(id) ?? make(id);
    sessions.set(id, opened);
    opened.catch(() => sessions.delete(id));
    return opened;
  }

  async function close(): Promise<void> {
    const opened = await Promise.allSettled(sessions.values());
    const leave = (session: LocalSession): Promise<void> =>
      keepMs === undefined ? session.remove() : session.end("shutdown");
    await Promise.all(opened.map(async (result) => (result.status === "fulfilled" ? leave(result.value) : undefined)));
  }

  return {
    isolation: "none",
    notices: [],
    guarded: [],
    capacity: toCapacity(),
    openSession: async (id) => remember(id, open),
    resumeSession: async (id) => remember(id, resume),
    listSessions: () => listSessions(ledger, owner),
    collectGarbage: (policy) => collectGarbage({ ledger, owner }, policy),
    close: () => (closing ??= close()),
  };
}

/** Of this machine, or of the cgroup that this process was put into. */
function toCapacity(): Capacity {
  // 0 or more than there is: not limited.
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
    const message = `Cannot make the folder of the sessions "${path}" (${code}). Name another with --sessions-dir.`;
    throw new BudgieError("CONFIG_INVALID", message, { cause });
  }
}

function gone(id: SessionId): BudgieError {
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
