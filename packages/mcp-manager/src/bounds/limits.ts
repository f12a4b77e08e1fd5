const MIB = 2 ** 20;

/** The limits on a server's output, and on the calls to it. */
export const LIMITS = {
  messageBytes: 4 * MIB,
  /** The rates of its output: on average, and in a burst */
  bytes: { perSecond: 8 * MIB, burst: 16 * MIB },
  messages: { perSecond: 500, burst: 1000 },
  values: { perSecond: 100_000, burst: 200_000 },
  /** Progress notifications for callers; more are dropped */
  progress: { perSecond: 20, burst: 40 },
  /** The server's own requests that are answered; more are dropped */
  requests: { perSecond: 20, burst: 40 },
  /** New SSE streams over HTTP: a server could end each at once, and have it reopened */
  streams: { perSecond: 0.5, burst: 5 },
  pages: 50,
  tools: 1000,
  /** All descriptions and schemas of all tools of a server together, as `JsonBounds` counts them, and in characters of JSON */
  toolValues: 50_000,
  allToolsSize: 4 * MIB,
  /** All descriptions and schemas of one tool together, in characters of JSON */
  toolSize: 262_144,
  name: 128,
  description: 10_000,
  error: 2000,
  logLine: 2000,
  logLines: 500,
  callsAtOnce: 64,
  /** The bytes of an agent's pending requests, and of answers that it does not read */
  pendingBytes: 8 * MIB,
} as const;
