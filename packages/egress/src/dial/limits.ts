/** What one door allows of each resource. */
export type EgressLimits = {
  /** At once; more are answered with 503, and four times as many are not accepted */
  readonly connections: number;
  /** Both directions of one connection together */
  readonly bytesPerConnection: number;
  /** Without a byte in either direction */
  readonly idleMs: number;
  readonly headerBytes: number;
  /** From the connection to the end of the request's headers, and from a tunnel to the end of its first message */
  readonly headerMs: number;
  /** To resolve a name, and again to connect to it */
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
