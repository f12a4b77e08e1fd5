/** The limits of one session's proxy. */
export type EgressLimits = {
  /** Number open at once; further ones are answered with 503, and not accepted beyond four times as many */
  readonly connections: number;
  /** Sum of both directions of one connection */
  readonly bytesPerConnection: number;
  /** Time without a byte in either direction */
  readonly idleMs: number;
  readonly headerBytes: number;
  /** Time from the connection to the end of the request's headers, and from a tunnel's start to the end of its first message */
  readonly headerMs: number;
  /** Time to resolve a name, and again to connect to it */
  readonly dialMs: number;
};

export const DEFAULT_EGRESS_LIMITS: EgressLimits = {
  connections: 256,
  bytesPerConnection: 16 * 1024 ** 3,
  idleMs: 600_000,
  headerBytes: 32_768,
  headerMs: 10_000,
  dialMs: 15_000,
};
