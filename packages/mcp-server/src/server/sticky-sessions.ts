import { realpathSync } from "node:fs";
import { BudgieError, type TurnRequest } from "@budgie/core";
import type { Step, Turn } from "@budgie/core/turn";

/** The value of `sessionId` that begins a new session. */
const NEW_SESSION = "new";

// The number of pairs of an agent and a directory.
const MOST_REMEMBERED = 1_000;

/**
 * Creates a step that lets a client's calls without a session id resume the client's last session with the same agent and directory. Each
 * client needs a step of its own, so that it never resumes the session of another.
 */
export function stickySessions(): Step {
  const last = new Map<string, Remembered>();
  let calls = 0;

  /** Remembers a call's session, unless a later call that ran at the same time has ended first. */
  function remember(key: string, now: Remembered): void {
    const { call = 0 } = last.get(key) ?? {};
    if (call > now.call) return;
    // Keeps the least recently used entry first.
    last.delete(key);
    last.set(key, now);
    const [oldest] = last.keys();
    if (last.size > MOST_REMEMBERED && oldest !== undefined) last.delete(oldest);
  }

  function forget(key: string, sessionId: string | undefined): void {
    if (last.get(key)?.sessionId === sessionId) last.delete(key);
  }

  /** Runs the call in a session, or in a new one, and remembers it. */
  async function run(turn: Turn, sessionId: string | undefined, next: Next): Promise<Answer> {
    const key = sessionKey(turn.asked);
    const call = ++calls;
    turn.asked = { ...turn.asked, sessionId };
    try {
      const answer = await next();
      remember(key, { call, sessionId: turn.session.id });
      return answer;
    } catch (error) {
      if (!(error instanceof BudgieError)) throw error;
      const usable = turn.report.sessionId ?? error.report.sessionId;
      if (usable !== undefined) remember(key, { call, sessionId: usable });
      if (ENDINGS.has(error.code)) forget(key, sessionId);
      throw error;
    }
  }

  async function resume(turn: Turn, next: Next): Promise<Answer> {
    const { sessionId } = last.get(sessionKey(turn.asked)) ?? {};
    try {
      return await run(turn, sessionId, next);
    } catch (error) {
      if (sessionId === undefined || !isSessionNotFound(error)) throw error;
      // The session ended before this call started anything. Its undelivered answers come with the new session's reply.
      const { moreMissed = 0 } = turn.report;
      turn.report.moreMissed = undefined;
      return run(turn, undefined, next).finally(() => turn.warn(...hintAtMissed(sessionId, moreMissed)));
    }
  }

  return async (turn, next) => {
    const { sessionId, sharedBase } = turn.asked;
    if (sharedBase !== undefined) {
      // One of several agents at once, which works on a copy: a later call works in the directory itself.
      turn.asked = { ...turn.asked, sessionId: undefined };
      return next();
    }
    if (sessionId === undefined) return resume(turn, next);
    return run(turn, sessionId === NEW_SESSION ? undefined : sessionId, next).catch(withHint);
  };
}

type Next = Parameters<Step>[1];
type Answer = Awaited<ReturnType<Step>>;

type Remembered = {
  readonly sessionId: string;
  /** The number of the call that it was used in */
  readonly call: number;
};

// After other errors without a session id the session may still exist. If it does not, the next call fails with one of these.
const ENDINGS: ReadonlySet<BudgieError["code"]> = new Set(["SESSION_NOT_FOUND", "SESSION_UNUSABLE"]);

function isSessionNotFound(error: unknown): error is BudgieError {
  return error instanceof BudgieError && error.code === "SESSION_NOT_FOUND";
}

/** Tells where the answers are that no later call brings, because the client's calls go to another session now. */
function hintAtMissed(sessionId: string, moreMissed: number): readonly string[] {
  if (moreMissed === 0) return [];
  const ls = `"budgie runs ls --session ${sessionId}"`;
  return [
    `${moreMissed} more answers of the ended session did not fit: ${ls} lists them, and "budgie runs show" prints one.`,
  ];
}

/** Adds a hint to the message, because leaving the id out does not begin a new session here. */
function withHint(error: unknown): never {
  if (isSessionNotFound(error)) error.message += ` With --sticky-sessions, "${NEW_SESSION}" begins a new one.`;
  throw error;
}

function sessionKey({ agent, directory }: TurnRequest): string {
  return JSON.stringify([agent, resolveRealPath(directory)]);
}

/** Resolves symlinks synchronously, so that calls keep their order. An unusable directory is reported when the request is checked. */
function resolveRealPath(directory: string): string {
  try {
    return realpathSync.native(directory);
  } catch {
    return directory;
  }
}
