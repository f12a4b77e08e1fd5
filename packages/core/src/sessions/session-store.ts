import { BudgieError } from "../errors.ts";
import { takeOver, type Keeping } from "./take-over-session.ts";
import type { Runner } from "../runner/runner.ts";
import { createSession, sessionNotFound, type Session, type SessionFacts } from "./session.ts";
import { createSessionId, parseSessionId, type SessionId } from "../runner/session-id.ts";
import type { RegisteredSession } from "./session-register.ts";

/** What a session is about, for as long as it lasts. */
type SessionSubject = {
  readonly agent: string;
  readonly directory: string;
};

/** The sessions of this process. */
export type SessionStore = {
  /** Begins a new session. */
  open(subject: SessionSubject): Promise<Session>;
  /**
   * Finds a session by the id that a caller gave, also one that a dead budgie kept. Throws `INPUT_INVALID` for a malformed id
   * or one of another agent or workspace, and `SESSION_NOT_FOUND` for an unknown one: never a new conversation in its place.
   */
  find(sessionId: string, subject: SessionSubject): Promise<Session>;
  /** Forgets a session and removes its home. */
  discard(session: Session): Promise<void>;
  /** Discards the sessions that nobody has used for so long; never one that a turn runs in, or waits for. */
  expireIdle(ttlMs: number): Promise<void>;
  /**
   * Discards these sessions, one that a turn runs in after it; where sessions are kept they stay, for who asks for them
   * next.
   */
  end(sessionIds: readonly string[]): Promise<void>;
  /** Strikes off the sessions that end with this process; removing their homes is the runner's. */
  close(): Promise<void>;
};

/** Creates the store of the sessions that live in `runner`; without `keeping` no other process knows of any. */
export function createSessionStore(runner: Runner, keeping?: Keeping): SessionStore {
  const sessions = new Map<string, Session>();
  const resuming = new Map<SessionId, Promise<Session>>();
  // Between being forgotten and being struck off they could be taken for a dead owner's.
  const leaving = new Set<SessionId>();

  async function note({
    agent,
    begun,
    createdMs,
    directory,
    id,
    usedMs,
  }: SessionFacts & Pick<Session, "id">): Promise<void> {
    if (keeping === undefined) return;
    const { keepMs, owner, register } = keeping;
    const { isolation } = runner;
    await register.save({ id, agent, directory, isolation, begun, createdMs, usedMs, keepMs, owner: owner.record });
  }

  function enter(home: Session["home"], facts: SessionFacts): Session {
    const session = createSession(home, facts, { isOpen: (id) => sessions.has(id), note });
    sessions.set(session.id, session);
    return session;
  }

  async function findKept(id: SessionId): Promise<RegisteredSession> {
    const found = keeping?.keepMs === undefined ? undefined : await keeping.register.find(id);
    if (found === undefined || leaving.has(id)) throw sessionNotFound(id);
    return found;
  }

  async function resume(found: RegisteredSession): Promise<Session> {
    if (keeping === undefined) throw sessionNotFound(found.id);
    await takeOver(found, keeping, runner.isolation);
    const session = enter(await runner.resumeSession(found.id), found);
    await note(session);
    return session;
  }

  /** Several calls may ask for one session at once. */
  async function resumeOnce(found: RegisteredSession): Promise<Session> {
    const { id } = found;
    const open = sessions.get(id) ?? resuming.get(id);
    if (open !== undefined) return open;
    const resumed = resume(found).finally(() => resuming.delete(id));
    resuming.set(id, resumed);
    return resumed;
  }

  async function discard({ home, id }: Session): Promise<void> {
    sessions.delete(id);
    leaving.add(id);
    await keeping?.register.remove(id);
    leaving.delete(id);
    await home.remove();
  }

  async function endOne(id: string): Promise<void> {
    const session = sessions.get(id);
    await session?.unused();
    // It may have gone by itself meanwhile.
    if (session !== undefined && sessions.get(id) === session) await discard(session);
  }

  return {
    async open(subject) {
      const id = createSessionId();
      const now = Date.now();
      const facts = { ...subject, begun: false, createdMs: now, usedMs: now };
      const home = await runner.openSession(id);
      await note({ ...facts, id });
      return enter(home, facts);
    },
    async find(sessionId, subject) {
      const id = parseSessionId(sessionId);
      const session = sessions.get(id);
      if (session !== undefined) {
        refuseOther(session, subject);
        return session;
      }
      const found = await findKept(id);
      refuseOther(found, subject);
      return resumeOnce(found);
    },
    discard,
    async expireIdle(ttlMs) {
      const idle = [...sessions.values()].filter(({ idleMs }) => (idleMs() ?? ttlMs) > ttlMs);
      // The runner still owns what could not be removed, and tries again when it closes.
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

function refuseOther(
  { agent, directory, id }: Pick<Session, "agent" | "directory" | "id">,
  wanted: SessionSubject,
): void {
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
