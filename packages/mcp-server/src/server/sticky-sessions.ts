import { realpathSync } from "node:fs";
import { BudgieError, type Reply, type RunTurn, type TurnHooks, type TurnRequest } from "@budgie/core";

/** What a call says instead of a session's id to begin a new one. */
const NEW_SESSION = "new";

// Of agents and directories. Who has forgotten so many others begins a new session.
const MOST_REMEMBERED = 1_000;

/**
 * Lets calls of one client that name no session go on with the one that it last had with this agent about this directory. It
 * belongs to that client alone: what one does, another's calls never find.
 */
export function toStickySessions(runTurn: RunTurn): RunTurn {
  const last = new Map<string, Remembered>();
  let calls = 0;

  /** Of calls that run side by side, the one that was made last counts, whichever ends last. */
  function remember(key: string, now: Remembered): void {
    const { call = 0 } = last.get(key) ?? {};
    if (call > now.call) return;
    // The one that was not used for the longest time is the first.
    last.delete(key);
    last.set(key, now);
    const [oldest] = last.keys();
    if (last.size > MOST_REMEMBERED && oldest !== undefined) last.delete(oldest);
  }

  function forget(key: string, sessionId: string | undefined): void {
    if (last.get(key)?.sessionId === sessionId) last.delete(key);
  }

  async function run(key: string, request: TurnRequest, hooks: TurnHooks | undefined): Promise<Reply> {
    const call = ++calls;
    try {
      const reply = await runTurn(request, hooks);
      remember(key, { call, sessionId: reply.sessionId });
      return reply;
    } catch (error) {
      if (!(error instanceof BudgieError)) throw error;
      if (error.sessionId !== undefined) remember(key, { call, sessionId: error.sessionId });
      if (ENDINGS.has(error.code)) forget(key, request.sessionId);
      throw error;
    }
  }

  async function goOn(key: string, request: TurnRequest, hooks: TurnHooks | undefined): Promise<Reply> {
    const { sessionId } = last.get(key) ?? {};
    try {
      return await run(key, { ...request, sessionId }, hooks);
    } catch (error) {
      if (sessionId === undefined || !isOver(error)) throw error;
      // It ended before anything of this call was begun. What it still had to say comes along.
      return withMissed(error, run(key, { ...request, sessionId: undefined }, hooks));
    }
  }

  return (request, hooks) => {
    const key = toKey(request);
    switch (request.sessionId) {
      case undefined:
        return goOn(key, request, hooks);
      case NEW_SESSION:
        return run(key, { ...request, sessionId: undefined }, hooks);
      default:
        return run(key, request, hooks).catch(withHint);
    }
  };
}

type Remembered = {
  readonly sessionId: string;
  /** The number of the call that it was used in */
  readonly call: number;
};

// After others without a session id it may live on, and if not, the next call is told.
const ENDINGS: ReadonlySet<BudgieError["code"]> = new Set(["SESSION_NOT_FOUND", "SESSION_UNUSABLE"]);

function isOver(error: unknown): error is BudgieError {
  return error instanceof BudgieError && error.code === "SESSION_NOT_FOUND";
}

/** What the message says of leaving the id out does not hold here. */
function withHint(error: unknown): never {
  if (isOver(error)) error.message += ` With --sticky-sessions, "${NEW_SESSION}" begins a new one.`;
  throw error;
}

async function withMissed({ missed }: BudgieError, turn: Promise<Reply>): Promise<Reply> {
  try {
    const reply = await turn;
    return { ...reply, missed: [...missed, ...reply.missed] };
  } catch (error) {
    if (error instanceof BudgieError) error.missed = [...missed, ...error.missed];
    throw error;
  }
}

function toKey({ agent, directory }: TurnRequest): string {
  return JSON.stringify([agent, toRealPath(directory)]);
}

/** At once, so that calls keep their order. Who checks the request says what is wrong with the directory. */
function toRealPath(directory: string): string {
  try {
    return realpathSync.native(directory);
  } catch {
    return directory;
  }
}
