/** Limits of a server on clients with and without the token. */
export type HttpLimits = {
  readonly sessions: number;
  /** The idle time after which a session may be ended for a new one, if the limit on sessions is reached */
  readonly yieldAfterMs: number;
  /** Pending requests of one session */
  readonly callsPerSession: number;
  readonly bodyBytes: number;
  /** The bytes of one session's pending requests, and of all sessions' together */
  readonly pendingBytes: number;
  readonly allPendingBytes: number;
  readonly connections: number;
  /** Connections that have sent no request with the token */
  readonly unauthenticated: number;
  /** Time limits on a request's headers, and on the whole request */
  readonly headersMs: number;
  readonly requestMs: number;
  /** Events that one session keeps for a client that reconnects */
  readonly events: number;
  readonly eventBytes: number;
};

const MIB = 1024 ** 2;

/** The default limits; docs/http.md lists them too. */
export const HTTP_LIMITS: HttpLimits = {
  sessions: 64,
  yieldAfterMs: 60_000,
  callsPerSession: 64,
  bodyBytes: 4 * MIB,
  pendingBytes: 8 * MIB,
  allPendingBytes: 64 * MIB,
  connections: 512,
  unauthenticated: 128,
  headersMs: 10_000,
  requestMs: 60_000,
  events: 1000,
  eventBytes: 4 * MIB,
};
