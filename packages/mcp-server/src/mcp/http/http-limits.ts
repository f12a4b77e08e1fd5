/** How much a server takes of clients that have the token, and of those that have not. */
export type HttpLimits = {
  readonly sessions: number;
  /** How long a session must have been idle to make room for another, where there are as many as there may be */
  readonly yieldAfterMs: number;
  /** Requests of one session that wait for their answers */
  readonly callsPerSession: number;
  readonly bodyBytes: number;
  readonly connections: number;
  /** Connections by which no request with the token has come */
  readonly unauthenticated: number;
  /** How long a request's headers may take, and all of it */
  readonly headersMs: number;
  readonly requestMs: number;
  /** What one session keeps for a client that comes back after a broken connection */
  readonly events: number;
  readonly eventBytes: number;
};

const MIB = 1024 ** 2;

/** The limits that hold; docs/http.md has them too. */
export const HTTP_LIMITS: HttpLimits = {
  sessions: 64,
  yieldAfterMs: 60_000,
  callsPerSession: 64,
  bodyBytes: 4 * MIB,
  connections: 512,
  unauthenticated: 128,
  headersMs: 10_000,
  requestMs: 60_000,
  events: 1000,
  eventBytes: 4 * MIB,
};
