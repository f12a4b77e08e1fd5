import { z } from "zod";
import { PLAIN_NAME, DEFAULT_TEXT_LIMITS, DEFAULT_MAX_QUEUED, EGRESS_MODES, RETRY_MODES } from "@budgie/core";
import { PRESET_NAMES } from "./egress-list.ts";
import { SPELLINGS, TOOL_MODES } from "./tool-options.ts";
import { DEFAULT_MODEL, HOST_NAME, KIRO_HARNESS, NUMBERS, ORIGIN, PROTOCOL, TOOL_PREFIX } from "./option-values.ts";

// Messages complete the sentence "Expected --model to be <message>, got …".
const path = z.string().min(1, "a path");
const duration = z.string();
const flag = z.union([z.boolean(), z.stringbool()], '"true" or "false"');
const model = z.string().regex(/^[\w.:/][\w.:/-]*$/, 'the name of a model, or "auto"');
const variable = z.string().regex(/^[A-Za-z_]\w*$/, "the name of a variable");

const { count, depth, limit, positive, tcpPort } = NUMBERS;
const address = z.string().regex(/^[\w.:-]+$/, "an address or name of this machine");
const rate = z.string().regex(/^(?:.+=)?\d{1,9}$/s, 'a number, or an agent and its number such as "code-reviewer=5"');

/** The options as given by flag or variable. The descriptions are the help text, in this order. */
export const configSchema = z.strictObject({
  agentsDir: path.default("~/.kiro/agents").describe("where the agents' files are"),
  promptsDir: path.default("~/.kiro/sub-agents/prompts").describe("where the agents' prompt files are"),
  systemPrompt: path.optional().describe("appended to every prompt; <prompts-dir>/_system.md by default"),
  contextSummaryPrompt: path
    .optional()
    .describe("asks for a missing answer; <prompts-dir>/_context-summary.md by default"),
  config: path.optional().describe("a JSON file with any of these options and sections of agents; none by default"),
  allowRoot: z
    .array(path)
    .optional()
    .describe("one more directory that calls may work in, with all below it; anywhere by default; repeatable"),
  model: model
    .optional()
    .describe(
      `for agents whose prompt file names none; an agent's own, or ${DEFAULT_MODEL}, by default; "auto" leaves the choice to Kiro`,
    ),
  trustAllTools: flag.default(false).describe("let agents use every tool they have, unasked"),
  env: z
    .array(variable)
    .default([])
    .describe("one more environment variable for agents, by its name; not with --sandbox; repeatable"),
  kiroBinary: path.default("kiro-cli").describe("Kiro's program; with --sandbox, the one in the image"),
  protocol: PROTOCOL.describe(
    "how Kiro's agents are talked to: cli, or acp, whose answer is the last message and needs no file",
  ),
  kiroHarness: KIRO_HARNESS.describe("which harness of Kiro answers: v2, or v3, which implies --protocol acp"),
  kiroDataDir: path.optional().describe("where Kiro keeps its login; where it does on this system by default"),
  stateDir: path
    .optional()
    .describe("where budgie keeps its run log, and who owns what; ~/.local/state/budgie by default"),
  toolPrefix: TOOL_PREFIX.describe("the prefix of the tools' names"),
  toolNames: z
    .enum(SPELLINGS, '"dotted" or "safe"')
    .default("dotted")
    .describe("how they are spelled: dotted, or safe: a-z, 0-9 and _ alone, at most 64, for clients that need that"),
  tools: z
    .enum(TOOL_MODES, '"agents", "router" or "both"')
    .default("agents")
    .describe("what is offered: agents (a tool each), router (list_agents and invoke_agent), or both"),
  markUntrusted: flag
    .default(true)
    .describe("say in the tools' descriptions that answers are untrusted; --no-mark-untrusted does not"),
  sandbox: flag.default(false).describe("run every agent in a container of its own"),
  sandboxImage: z
    .string()
    .min(1, "the name of an image")
    .default("budgie-sandbox:latest")
    .describe("the image of the sandbox"),
  credentials: z
    .enum(["full", "access-token", "api-key", "none"], '"full", "access-token", "api-key" or "none"')
    .default("full")
    .describe("the part of Kiro's login that a sandbox gets: full, access-token, api-key or none"),
  runtime: z
    .string()
    .regex(/^[\w.:/-]+$/, "the name of a runtime, such as runsc")
    .optional()
    .describe("the engine's runtime for sandboxes, such as runsc or kata; the engine's default if left out"),
  acceptWeaker: z
    .array(z.enum(["limits", "seccomp", "ulimits"], '"limits", "seccomp" or "ulimits"'))
    .default([])
    .describe("run agents though the engine lacks this: limits, seccomp or ulimits; repeatable"),
  workspace: z
    .enum(["ro", "rw"], '"ro" or "rw"')
    .default("rw")
    .describe("whether agents in a sandbox may write to the directory that they work in: rw or ro"),
  protectExecutablePaths: flag
    .default(false)
    .describe("with --sandbox: what the host runs by itself, such as git hooks, is read-only where it exists"),
  allowMcp: z
    .array(z.string().regex(PLAIN_NAME, "the name of an MCP server"))
    .default([])
    .describe(
      "an MCP server of agents' files, and for programs of settings/mcp.json: agents get all its tools, and it runs in a container that reaches no host; repeatable",
    ),
  egress: z
    .enum(EGRESS_MODES, `one of ${EGRESS_MODES.join(", ")}`)
    .optional()
    .describe(
      "how far sandboxes reach: allowlist (the default), open, none, or bridge, which is unsafe: the engine's network, " +
        "unwatched",
    ),
  allowHost: z
    .array(z.string())
    .optional()
    .describe("one more host that sandboxes reach: NAME[:PORT][=ADDRESS], or *.NAME for all below it; repeatable"),
  allowPreset: z
    .array(z.enum(PRESET_NAMES, `one of ${PRESET_NAMES.join(", ")}`))
    .optional()
    .describe(`the hosts that something needs: ${PRESET_NAMES.join(", ")}; repeatable`),
  caFile: path.optional().describe("certificates (PEM) that sandboxes trust, where something on the way inspects TLS"),
  agentTimeout: z.string().default("10m").describe("how long one attempt may take, such as 90s, 10m or 1h30m"),
  retry: z
    .enum(RETRY_MODES, '"safe", "always" or "never"')
    .default("safe")
    .describe(
      "try once more after a timeout or a crash: safe (only if the workspace did not change meanwhile), always or never",
    ),
  heartbeat: duration.default("10s").describe("the interval of progress notifications, for clients that ask for them"),
  softDeadline: z
    .string()
    .default("auto")
    .describe(
      "when a call is answered before its agent has finished, such as 50s; auto (for clients with a known timeout) or " +
        "never",
    ),
  maxConcurrent: positive.optional().describe("how many turns run at once; as many as the machine can run by default"),
  maxQueued: count
    .optional()
    .describe(`how many more turns wait in the queue; ${DEFAULT_MAX_QUEUED} by default, 0 refuses them`),
  maxTurnsPerMinute: z
    .array(rate)
    .default([])
    .describe("refuse more turns, of all agents (30) or of one (code-reviewer=5); repeatable, 0 for no limit"),
  maxDepth: depth
    .optional()
    .describe("how deeply agents may be nested, each started by a budgie of the agent around it; 1 by default"),
  sanitize: flag
    .default(DEFAULT_TEXT_LIMITS.sanitize)
    .describe("remove invisible and control characters from prompts and answers; --no-sanitize leaves them"),
  maxPromptBytes: limit
    .default(DEFAULT_TEXT_LIMITS.maxPromptBytes)
    .describe("refuse longer prompts; 400000 by default, 0 refuses none"),
  maxAnswerBytes: limit
    .default(DEFAULT_TEXT_LIMITS.maxAnswerBytes)
    .describe("cut longer answers, and keep them whole in the session's home; 100000 by default, 0 cuts none"),
  sessionsDir: path
    .default("~/.kiro/sub-agents/sessions")
    .describe("where sessions have their folders, unless in a sandbox"),
  keepSessions: flag.default(false).describe("keep sessions on exit, so that the next budgie can resume them by id"),
  stickySessions: flag
    .default(false)
    .describe('resume the client\'s last session in calls without a session id; "new" then begins a new one'),
  sessionTtl: duration
    .default("24h")
    .describe("how long a session may be unused before it is removed, such as 90m or 24h"),
  warmIdle: duration
    .default("5m")
    .describe("how long an ACP agent's process stays for the next turn of its session; 0 ends it with each turn"),
  ahead: count
    .default(8)
    .describe("how many next turns a sandbox keeps ready, at most 8, and one session; 8 by default, 0 for nothing"),
  sweepEvery: duration
    .default("10m")
    .describe("how often to remove what killed budgies left, from the first call on; 0 for never"),
  keepAnswers: flag
    .default(true)
    .describe("keep answers in the run log, so that undelivered ones are not lost; --no-keep-answers keeps none"),
  keepRuns: z
    .string()
    .default("30d")
    .describe("how long the run log keeps a turn and its answer, such as 12h or 30d; 0 for no limit"),
  maxRunsBytes: limit
    .default(256 * 1024 ** 2)
    .describe("how large the run log gets before the oldest answers are removed; 268435456 by default, 0 for no limit"),
  transport: z
    .enum(["stdio", "http"], '"stdio" or "http"')
    .default("stdio")
    .describe("how clients connect: stdio, or http for MCP's Streamable HTTP at /mcp"),
  host: address.optional().describe("with --transport http: the address to listen on; 127.0.0.1 by default"),
  port: tcpPort.optional().describe("with --transport http: the port; 3333 by default, 0 for a free one"),
  httpTokenFile: path
    .optional()
    .describe(
      "the file with the bearer token that clients must have, if BUDGIE_HTTP_TOKEN has none; a new one by default",
    ),
  httpAllowedHost: z
    .array(HOST_NAME)
    .default([])
    .describe("one more name by which clients may call this server, such as that of a reverse proxy; repeatable"),
  httpAllowedOrigin: z
    .array(ORIGIN)
    .default([])
    .describe("an origin whose web pages may use this server; none by default; repeatable"),
  httpAllowRemote: flag
    .default(false)
    .describe("let --host be an address that other machines reach; nothing is encrypted"),
  httpSessionTtl: z
    .string()
    .optional()
    .describe("how long a client may be idle, with no call running, before its sessions end; 30m by default"),
  listTools: flag.default(false).describe("print the tools and what they do, and exit"),
  debug: flag.default(false).describe("print everything a client is told about the tools, and exit"),
  verbose: flag.default(false).describe("log every chat in its session's home, and every turn on stderr"),
});

/** The name of an option, as a key of {@link configSchema}. */
export type ConfigKey = keyof typeof configSchema.shape;
