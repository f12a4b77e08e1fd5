import {
  BudgieError,
  createSessionId,
  isSessionId,
  type Reply,
  type RunTurn,
  type SessionBook,
  type TurnHooks,
  type TurnRequest,
} from "@budgie/core";

/** Keeps the clients of one process apart: to each of them the sessions of the others are not there. */
export type SessionOwners = {
  /** Begins to tell a client's sessions from all others. */
  readonly enter: () => ClientSessions;
};

/** What one client has. */
type ClientSessions = {
  readonly runTurn: RunTurn;
  /** Ends the client's sessions, or leaves them to who asks next where they are kept; its turns must be over. */
  readonly leave: () => Promise<void>;
};

type SessionOwnersOptions = {
  readonly runTurn: RunTurn;
  readonly sessions: Pick<SessionBook, "end">;
};

/** By object identity, and nothing that a client could name */
type Owner = object;

type Claim = {
  readonly owner: Owner;
  /** Calls that named it and are not over */
  calls: number;
  /** Whether a turn has come to run in it, for who knew what it is about; until then it holds only others off */
  isSure: boolean;
};

/** Creates the register of who has which session; a session is whose turn began it, or who first asked for a kept one. */
export function createSessionOwners({ runTurn, sessions }: SessionOwnersOptions): SessionOwners {
  const claims = new Map<string, Claim>();

  function own(sessionId: string | undefined, owner: Owner): void {
    if (sessionId === undefined) return;
    const claim = claims.get(sessionId) ?? { owner, calls: 0, isSure: true };
    claims.set(sessionId, claim);
    claim.isSure = true;
  }

  /** Claimed before it is looked for: of two clients that name a kept session at once, one gets it. */
  async function claiming(sessionId: string, owner: Owner, turn: () => Promise<Reply>): Promise<Reply> {
    const claim = claims.get(sessionId) ?? { owner, calls: 0, isSure: false };
    claims.set(sessionId, claim);
    claim.calls++;
    try {
      return await turn();
    } finally {
      claim.calls--;
      if (!claim.isSure && claim.calls === 0) claims.delete(sessionId);
    }
  }

  /** Takes the very way of an id that nobody has, by asking for one: what is said, and when, tells nothing. */
  async function asStranger(request: TurnRequest & Named, { signal }: TurnHooks): Promise<Reply> {
    const nobodys = createSessionId();
    try {
      // It gets as far as being looked for, and so there is no progress.
      return await runTurn({ ...request, sessionId: nobodys }, { signal });
    } catch (error) {
      if (error instanceof BudgieError) error.message = error.message.replaceAll(nobodys, request.sessionId);
      throw error;
    }
  }

  function enter(): ClientSessions {
    const client: Owner = {};

    /** A session is the client's before anything tells its id. */
    const owning = ({ onProgress, ...hooks }: TurnHooks): TurnHooks => ({
      ...hooks,
      onProgress(progress) {
        own(progress.sessionId, client);
        onProgress?.(progress);
      },
    });

    return {
      runTurn: async (request, hooks = {}) => {
        const { sessionId } = request;
        if (sessionId === undefined || !isSessionId(sessionId)) return runTurn(request, owning(hooks));
        const owner = claims.get(sessionId)?.owner ?? client;
        if (owner !== client) return asStranger({ ...request, sessionId }, hooks);
        return claiming(sessionId, client, () => runTurn(request, owning(hooks)));
      },
      async leave() {
        const ids = [...claims].flatMap(([id, { owner }]) => (owner === client ? [id] : []));
        await sessions.end(ids);
        for (const id of ids) claims.delete(id);
      },
    };
  }

  return { enter };
}

type Named = { readonly sessionId: string };
