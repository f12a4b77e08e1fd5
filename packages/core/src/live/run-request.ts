import { z } from "zod";

/** A request to the budgie that runs turns, sent through its owner's lock. */
export type RunRequest = z.infer<typeof runRequest>;

// Restricted, since they are printed, and any process of this user could pose as a budgie.
const id = z.string().regex(/^[\da-f-]{1,36}$/);
const outcome = z.string().regex(/^\w{1,40}$/);

export const runRequest = z.discriminatedUnion("ask", [
  z.object({ ask: z.literal("runs") }),
  /** Asks for the agent's output so far, and with `follow` for the rest until the turn ends */
  z.object({ ask: z.literal("output"), runId: id, follow: z.boolean() }),
  z.object({ ask: z.literal("stop"), runId: id }),
]);

/** A turn that waits or runs now. */
export type LiveRun = z.infer<typeof liveRun>;

const liveRun = z.object({
  runId: id,
  agent: z.string(),
  /** The name that the client gave itself; left out if it gave none */
  client: z.string().optional(),
  directory: z.string(),
  isolation: z.enum(["container", "none", "remote"]),
  /** Left out until the turn has one */
  sessionId: id.optional(),
  /** Milliseconds since 1970 */
  startedMs: z.number(),
  phase: z.enum(["waiting", "starting", "running"]),
  /** The position in the queue of a turn that waits */
  position: z.number().optional(),
  /** The number of the attempt of a turn that runs */
  attempt: z.number().optional(),
});

/** The answers to {@link RunRequest}; one request may have several. */
export const runAnswer = {
  runs: z.object({
    runs: z.array(liveRun),
    ahead: z.object({ sessions: z.number(), turns: z.number() }).optional(),
    /** Changes after agents' last turns that no result has told yet */
    left: z.array(z.object({ agent: z.string(), directory: z.string(), paths: z.array(z.string()) })).optional(),
  }),
  /** `end` is the outcome of a turn that was followed to its end */
  output: z.object({ text: z.string().optional(), end: outcome.optional() }),
  stop: z.object({ outcome }),
};
