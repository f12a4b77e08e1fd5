import {
  BudgieError,
  createSessionId,
  isSessionId,
  type Reply,
  type RunTurn,
  type SessionStore,
  type TurnHooks,
  type TurnRequest,
} from "@budgie/core";

/** The clients of this process and the sessions that each of them owns. */
export type SessionOwners = {
  readonly addClient: () => SessionOwner;
};

/** One client as an owner of sessions. A session belongs to the client whose turn began it, or that first resumed it. */
export type SessionOwner = {
  /** Makes the client the session's owner, unless it has one. */
  readonly own: (sessionId: string | undefined) => void;
  readonly isOthers: (sessionId: string) => boolean;
  /** Keeps other clients off the session during a turn; afterwards too if the turn owned it. */
  readonly claim: (sessionId: string, turn: () => Promise<Reply>) => Promise<Reply>;
  /** Ends the client's sessions, or releases them if sessions are kept. The client's turns must have ended. */
  readonly remove: () => Promise<void>;
};

type Claim = {
  /** Compared by identity, so that no client can name another */
  readonly client: object;
  /** The number of pending calls with this session */
  calls: number;
  /** `true` if a turn of the client has run in the session; until then the claim ends with its calls */
  isOwned: boolean;
};

export function createSessionOwners(sessions: Pick<SessionStore, "end">): SessionOwners {
  const claims = new Map<string, Claim>();

  function ensureClaim(sessionId: string, client: object): Claim {
    const claim = claims.get(sessionId) ?? { client, calls: 0, isOwned: false };
    claims.set(sessionId, claim);
    return claim;
  }

  return {
    addClient() {
      const client = {};
      return {
        own(sessionId) {
          if (sessionId !== undefined) ensureClaim(sessionId, client).isOwned = true;
        },
        isOthers: (sessionId) => (claims.get(sessionId)?.client ?? client) !== client,
        async claim(sessionId, turn) {
          const claim = ensureClaim(sessionId, client);
          claim.calls++;
          try {
            return await turn();
          } finally {
            claim.calls--;
            if (!claim.isOwned && claim.calls === 0) claims.delete(sessionId);
          }
        },
        async remove() {
          const ids = [...claims].flatMap(([id, claim]) => (claim.client === client ? [id] : []));
          await sessions.end(ids);
          for (const id of ids) claims.delete(id);
        },
      };
    },
  };
}

/** Hides the sessions of other clients: to `owner` they do not exist. */
export function withOwnedSessions(runTurn: RunTurn, owner: SessionOwner): RunTurn {
  /** Owns a session before the client learns its id. */
  const owning = ({ onProgress, ...hooks }: TurnHooks): TurnHooks => ({
    ...hooks,
    onProgress(progress) {
      owner.own(progress.sessionId);
      onProgress?.(progress);
    },
  });

  /** Asks for an unknown session instead, so that neither the answer nor its timing shows that the session exists. */
  async function runAsUnknown(request: TurnRequest & Named, { signal }: TurnHooks): Promise<Reply> {
    const unknown = createSessionId();
    try {
      return await runTurn({ ...request, sessionId: unknown }, { signal });
    } catch (error) {
      if (error instanceof BudgieError) error.message = error.message.replaceAll(unknown, request.sessionId);
      throw error;
    }
  }

  return async (request, hooks = {}) => {
    const { sessionId } = request;
    if (sessionId === undefined || !isSessionId(sessionId)) return runTurn(request, owning(hooks));
    if (owner.isOthers(sessionId)) return runAsUnknown({ ...request, sessionId }, hooks);
    // Claimed before the session is found: if two clients name a kept session at once, one of them gets it.
    return owner.claim(sessionId, () => runTurn(request, owning(hooks)));
  };
}

type Named = { readonly sessionId: string };
