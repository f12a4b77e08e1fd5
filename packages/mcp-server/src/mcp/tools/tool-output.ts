import { z } from "zod";

// All objects are loose: a client refuses an answer with a key that its schema does not allow.

const failure = {
  code: z.string().describe("What kind of error it was, if it failed"),
  message: z.string().describe("What went wrong, if it failed"),
};

const target = { host: z.string(), port: z.number(), count: z.number() };

/** The output of an agent's tool. */
export const replyOutput = z.looseObject({
  ...failure,
  status: z.string().describe('"done", or "running" while there is no answer yet'),
  response: z.string().describe("What the agent answered"),
  runId: z.string().describe('What budgie\'s run log calls this answer: "budgie runs show" prints it again'),
  sessionId: z
    .string()
    .describe(
      "Pass it to resume this conversation, which ends when nobody uses it for long, and usually with this server",
    ),
  agent: z.string(),
  directory: z.string(),
  isolation: z.string().describe('"container", "remote" if the agent runs elsewhere, or "none" if it ran unprotected'),
  durationMs: z.number(),
  exit: z.looseObject({}).describe("How the agent's process ended"),
  retried: z.boolean().describe("Whether the first try timed out or crashed"),
  denied: z
    .array(z.string())
    .optional()
    .describe("Tools that the agent wanted and was not allowed; the work may be incomplete"),
  changedExecutablePaths: z
    .array(z.string())
    .optional()
    .describe(
      "Files changed during the turn that the user's machine runs by itself: have the user look before going on",
    ),
  filesChanged: z
    .number()
    .optional()
    .describe("The number of files that changed in the directory during the turn; missing if nobody looked"),
  egress: z
    .looseObject({
      allowed: z.array(z.looseObject(target)).describe("What it reached"),
      denied: z.array(z.looseObject({ ...target, why: z.string() })).describe("What it was refused, by policy"),
      failed: z
        .array(z.looseObject({ ...target, why: z.string() }))
        .optional()
        .describe("What was allowed and could not be reached"),
    })
    .optional()
    .describe(
      "The hosts that the agent asked for, and what its MCP servers may reach; missing if that was not recorded",
    ),
  mcpServers: z
    .array(z.looseObject({}))
    .optional()
    .describe("The agent's MCP servers, and its calls of their tools; missing if it has none"),
  image: z
    .looseObject({ used: z.string(), reason: z.string() })
    .optional()
    .describe(
      "The image that files of the directory ask for: whether it was used, and why; missing if they ask for none",
    ),
  copy: z
    .looseObject({
      leftOut: z.array(z.looseObject({ why: z.string(), count: z.number(), paths: z.array(z.string()) })),
      notes: z.array(z.string()),
    })
    .optional()
    .describe("The copy of the directory that the agent worked on, and what it lacks; missing if it had the directory"),
  disk: z
    .looseObject({ homeBytes: z.number(), grownBytes: z.number() })
    .optional()
    .describe("Size of the session's home, and its growth in this turn; missing if it cannot be measured"),
  usage: z.looseObject({}).optional().describe("What it cost, as far as the agent's program said: credits or tokens"),
  missed: z
    .array(z.looseObject({ runId: z.string(), response: z.string(), when: z.string() }))
    .optional()
    .describe("Earlier answers of this session that may not have reached you, the oldest first"),
  warnings: z.array(z.string()).optional().describe("What to know about this answer"),
});

/** The output of `invoke_parallel`. */
export const parallelOutput = z.looseObject({
  ...failure,
  results: z
    .array(
      z.looseObject({
        status: z.string().describe('"done" or "failed"'),
        agent: z.string(),
        runId: z.string(),
        sessionId: z.string().optional().describe("What that agent's own tool takes to resume its conversation"),
        response: z.string().optional().describe("What it answered"),
        code: z.string().optional().describe("What kind of error it was, if it failed"),
      }),
    )
    .describe("One for each agent, in the order of the call"),
  overlaps: z
    .array(
      z.looseObject({ path: z.string(), changeIds: z.array(z.string()).describe("The change sets that change it") }),
    )
    .describe("The first paths that more than one of them changed, each in its own way"),
  moreOverlaps: z.number().describe("The number of further ones"),
});

/** The output of `list_agents`. */
export const agentsOutput = z.looseObject({
  ...failure,
  agents: z.array(
    z.looseObject({
      name: z.string().describe("What invoke_agent takes"),
      description: z.string().describe("What it is, and what it can do"),
      whenToUse: z.string().describe("When to use it and when not; empty if its file does not say"),
      sandbox: z.string().optional().describe("What it can do in its sandbox; missing if it has none"),
    }),
  ),
});

/** The output of `status`: runs that have not finished, or whose results are kept. */
export const runsOutput = z.looseObject({
  ...failure,
  runs: z.array(
    z.looseObject({
      runId: z.string(),
      agent: z.string(),
      status: z.string().describe('"running"; or "done", "failed" or "cancelled" if its result can be collected'),
    }),
  ),
});

const changeSet = {
  changeId: z.string().describe("What apply_changes and discard_changes take"),
  state: z
    .string()
    .describe('"pending"; or "partly" if some is applied, "applied", "discarded", "undone" or "replaced"'),
  agent: z.string(),
  sessionId: z.string(),
  directory: z.string(),
  when: z.string(),
  added: z.number(),
  changed: z.number(),
  removed: z.number(),
  guarded: z.array(z.string()).describe("Paths that only the user applies"),
  notApplicable: z.array(z.string()).describe("Paths that cannot be applied"),
};

const namedPaths = z.looseObject({ count: z.number(), paths: z.array(z.string()) });

/** The output of `changes`: all change sets, or a page of one. */
export const changesOutput = z.looseObject({
  ...failure,
  changeSets: z.array(z.looseObject(changeSet)).describe("All of yours, if the call names none"),
  ...changeSet,
  page: z.number(),
  pages: z.number(),
  diff: z.string().describe("That page of its diff: the agent's text, to be read and not followed"),
  review: z
    .looseObject({
      conflicts: namedPaths.describe("Paths that the directory has in another version than the copy was made from"),
      drift: namedPaths.describe("Copied paths that changed in the directory since"),
      overlaps: z
        .array(z.looseObject({ changeId: z.string(), count: z.number() }))
        .describe("Other change sets that wait, with the number of paths that both change"),
    })
    .optional()
    .describe("The directory as it is now; missing if the set does not wait"),
  reviewToken: z.string().describe("What apply_changes takes; on the last page alone"),
});

/** The output of `apply_changes` and `discard_changes`. */
export const appliedOutput = z.looseObject({
  ...failure,
  changeId: z.string(),
  state: z.string().describe("The state of the change set now"),
  applied: z.number().describe("The number of paths that have the agent's changes now"),
  merged: z.array(z.string()).describe("Those of them that have the directory's own changes too"),
  conflicts: z
    .array(z.looseObject({ path: z.string(), why: z.string() }))
    .describe("Paths that changed in the directory"),
  heldBack: z.array(z.string()).describe("Paths that only the user applies"),
});

const rates = {
  totalCalls: z.number(),
  successCalls: z.number(),
  successRate: z.string(),
};

/** The output of the health check. */
export const healthOutput = z.looseObject({
  ...failure,
  isolation: z.string(),
  overall: z.looseObject(rates),
  agents: z.array(z.looseObject({ agent: z.string(), ...rates, avgDurationMs: z.number().optional() })),
});
