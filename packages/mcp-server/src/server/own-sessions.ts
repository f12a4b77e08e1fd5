import { BudgieError, createSessionId, isSessionId } from "@budgie/core";
import type { SessionStore } from "@budgie/core/sessions";
import type { Step } from "@budgie/core/turn";

/** The clients of this process and the sessions that each of them owns. */
export type ClientOwners = {
  readonly addClient: () => ClientOwner;
};

/** One client as an owner of sessions. A session belongs to the client whose turn began it, or that first resumed it. */
export type ClientOwner = {
  /** Makes the client the session's owner, unless it has one. */
  readonly own: (sessionId: string) => void;
  readonly isOthers: (sessionId: string) => boolean;
  /** Keeps other clients off the session during a turn; afterwards too if the turn owned it. */
  readonly claim: <T>(sessionId: string, turn: () => Promise<T>) => Promise<T>;
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

export function createSessionOwners(sessions: Pick<SessionStore, "end">): ClientOwners {
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
          ensureClaim(sessionId, client).isOwned = true;
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

/** Creates a step that hides the sessions of other clients: to `owner` they do not exist. */
export function ownSessions(owner: ClientOwner): Step {
  return async (turn, next) => {
    const { sessionId } = turn.asked;
    // Owns a session before the client learns its id.
    turn.events.on("session", owner.own);
    if (sessionId === undefined || !isSessionId(sessionId)) return next();
    // Claimed before the session is found: if two clients name a kept session at once, one of them gets it.
    if (!owner.isOthers(sessionId)) return owner.claim(sessionId, next);
    // An unknown session instead, so that neither the answer nor its timing shows that the session exists.
    const unknown = createSessionId();
    turn.asked = { ...turn.asked, sessionId: unknown };
    return next().catch((error: unknown) => {
      if (error instanceof BudgieError) error.message = error.message.replaceAll(unknown, sessionId);
      throw error;
    });
  };
}
