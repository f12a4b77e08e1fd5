import { BudgieError } from "../errors.ts";
import { refuseOtherIsolation, takeOver, type Keeping } from "./take-over.ts";
import type { Runner, WorkspacePath } from "../runner/runner.ts";
import { createSession, sessionNotFound, type Session, type SavedFacts } from "./session.ts";
import { createSessionId, parseSessionId, type SessionId } from "../runner/session-id.ts";
import type { RegisterEntry } from "./session-register.ts";

/** The subject of a session, which never changes. */
type Subject = Pick<RegisterEntry, "agent" | "directory"> & {
  /** True if the agent runs elsewhere; default false */
  readonly isRemote?: boolean | undefined;
  /** The path at which a new session's sandboxes show the directory; default the runner's */
  readonly workspacePath?: WorkspacePath | undefined;
};

/** The sessions of this process. */
export type SessionStore = {
  /** Begins a new session. Throws `QUEUE_FULL` if 10,000 are open. */
  open(subject: Subject): Promise<Session>;
  /**
   * Finds a session by a caller's id, also one that a dead budgie kept. Throws `INPUT_INVALID` for a malformed id, or one of another
   * agent or workspace, and `SESSION_NOT_FOUND` for an unknown one. It never begins a new conversation instead.
   */
  find(sessionId: string, subject: Subject): Promise<Session>;
  /** Ends a session and removes its home. */
  discard(session: Session): Promise<void>;
  /** Discards the sessions that were unused for longer than `ttlMs`, but none with a running or waiting turn. */
  expireIdle(ttlMs: number): Promise<void>;
  /**
   * Discards these sessions after their running turns. If sessions are kept they stay, for the next caller to resume.
   */
  end(sessionIds: readonly string[]): Promise<void>;
  /** Removes the register entries of the sessions that end with this process. The runner removes their homes. */
  close(): Promise<void>;
};

// Each has a home on disk, and a caller can begin as many as its turns are fast.
const MOST_OPEN = 10_000;

/**
 * Creates the store of the sessions in `runner`, and of those in `remote`, whose agents run elsewhere. Without `keeping` no other
 * process knows of them.
 */
export function createSessionStore(runner: Runner, keeping?: Keeping, remote: Runner = runner): SessionStore {
  const runnerOf = ({ isRemote = false }: Subject): Runner => (isRemote ? remote : runner);
  const sessions = new Map<string, Session>();
  const resuming = new Map<SessionId, Promise<Session>>();
  // Sessions that are being removed here but are still in the register could be taken for a dead owner's.
  const closing = new Set<SessionId>();
  let opening = 0;

  async function note({
    agent,
    begun,
    createdMs,
    directory,
    id,
    isolation,
    totals,
    usedMs,
    workspacePath,
  }: SavedFacts & Pick<Session, "id">): Promise<void> {
    if (keeping === undefined) return;
    const { keepMs, origin, owner, register } = keeping;
    const facts = { id, agent, directory, isolation, begun, createdMs, usedMs, workspacePath, totals, keepMs, origin };
    await register.save({ ...facts, owner: owner.record });
  }

  function add(home: Session["home"], facts: SavedFacts): Session {
    const session = createSession(home, facts, { isOpen: (id) => sessions.has(id), note });
    sessions.set(session.id, session);
    return session;
  }

  async function begin({ agent, directory, isRemote, workspacePath }: Subject): Promise<Session> {
    const place = runnerOf({ agent, directory, isRemote });
    const id = (await place.ahead?.take()) ?? createSessionId();
    const now = Date.now();
    const { isolation } = place;
    const facts = { agent, directory, isolation, workspacePath, begun: false, createdMs: now, usedMs: now, totals: {} };
    const home = await place.openSession(id);
    await note({ ...facts, id });
    return add(home, facts);
  }

  async function findKept(id: SessionId): Promise<RegisterEntry> {
    const found = keeping?.keepMs === undefined ? undefined : await keeping.register.find(id);
    if (found === undefined || closing.has(id)) throw sessionNotFound(id);
    return found;
  }

  async function resume(found: RegisterEntry, place: Runner): Promise<Session> {
    if (keeping === undefined) throw sessionNotFound(found.id);
    await takeOver(found, keeping, place.isolation);
    const session = add(await place.resumeSession(found.id), found);
    await note(session);
    return session;
  }

  /** Resumes a session once, although several calls may name it at the same time. */
  async function resumeOnce(found: RegisterEntry, place: Runner): Promise<Session> {
    const { id } = found;
    const open = sessions.get(id) ?? resuming.get(id);
    if (open !== undefined) return open;
    const resumed = resume(found, place).finally(() => resuming.delete(id));
    resuming.set(id, resumed);
    return resumed;
  }

  async function discard({ home, id }: Session): Promise<void> {
    sessions.delete(id);
    closing.add(id);
    await keeping?.register.remove(id);
    closing.delete(id);
    await home.remove();
  }

  async function endOne(id: string): Promise<void> {
    const session = sessions.get(id);
    await session?.unused();
    // It may have ended meanwhile.
    if (session !== undefined && sessions.get(id) === session) await discard(session);
  }

  return {
    async open(subject) {
      if (sessions.size + opening >= MOST_OPEN) throw tooManySessions();
      opening++;
      try {
        return await begin(subject);
      } finally {
        opening--;
      }
    },
    async find(sessionId, subject) {
      const id = parseSessionId(sessionId);
      const session = sessions.get(id);
      if (session !== undefined) {
        checkSubject(session, subject);
        // The name may now belong to an agent that runs elsewhere.
        refuseOtherIsolation(session, runnerOf(subject).isolation);
        return session;
      }
      const found = await findKept(id);
      checkSubject(found, subject);
      return resumeOnce(found, runnerOf(subject));
    },
    discard,
    async expireIdle(ttlMs) {
      const idle = [...sessions.values()].filter(({ idleMs }) => (idleMs() ?? ttlMs) > ttlMs);
      // The runner still owns a home that could not be removed, and retries when it closes.
      await Promise.allSettled(idle.map(discard));
    },
    async end(sessionIds) {
      if (keeping?.keepMs !== undefined) return;
      await Promise.allSettled(sessionIds.map(endOne));
    },
    async close() {
      if (keeping === undefined || keeping.keepMs !== undefined) return;
      for (const { id } of sessions.values()) await keeping.register.remove(id);
    },
  };
}

function checkSubject({ agent, directory, id }: Pick<Session, "agent" | "directory" | "id">, wanted: Subject): void {
  if (agent !== wanted.agent) {
    throw new BudgieError(
      "INPUT_INVALID",
      `The session "${id}" is one with the agent "${agent}", not "${wanted.agent}". ` +
        `Call that agent, or leave "sessionId" out.`,
    );
  }
  if (directory !== wanted.directory) {
    throw new BudgieError(
      "INPUT_INVALID",
      `The session "${id}" works on "${directory}", not on "${wanted.directory}". ` +
        `Pass the same directory, or leave "sessionId" out.`,
    );
  }
}

function tooManySessions(): BudgieError {
  return new BudgieError(
    "QUEUE_FULL",
    `${MOST_OPEN.toLocaleString("en-US")} sessions are open, and no more can be. Go on in one by its "sessionId", or wait until one has ` +
      `been unused for its time.`,
  );
}
