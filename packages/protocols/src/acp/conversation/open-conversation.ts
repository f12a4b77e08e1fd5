import { setImmediate as nextTask, setTimeout as sleep } from "node:timers/promises";
import { methods, PROTOCOL_VERSION, RequestError, type McpServer } from "@agentclientprotocol/sdk";
import { z } from "zod";
import { BudgieError } from "@budgie/core";
import type { OfferedServers } from "@budgie/core/protocol";
import { type KiroRequest } from "../../kiro/v3/custom-agent.ts";
import type { AcpProgram } from "./acp-program.ts";
import { setAskingMode } from "./set-asking-mode.ts";
import { EndedError, type Connection } from "./connection.ts";
import { conversationMeta } from "../kiro/conversation-meta.ts";
import { kiroCapabilities, proveAgent, proveHarness } from "../kiro/prove-agent.ts";
import { checkMode } from "./set-mode.ts";
import { setModel } from "./set-model.ts";
import { isLostByGemini, untilLoadable } from "./until-loadable.ts";
import { CODES, formatRequestError } from "./format-request-error.ts";
import { findListed, refuseRefused, switchAutopilotOff } from "./kiro-conversation.ts";

/** A conversation with an agent: what ACP calls a session. */
export type Conversation = {
  readonly id: string;
  /** The name by which the program introduced itself */
  readonly program: string | undefined;
  /** The time of its begin, in milliseconds; `undefined` if it was resumed */
  readonly begunMs: number | undefined;
  readonly warnings: readonly string[];
  /** True if the program takes MCP servers over HTTP */
  readonly takesServers: boolean;
};

export type OpenOptions = {
  /** The agent's name, for messages */
  readonly agent: string;
  readonly program: Pick<AcpProgram, "kiro" | "mode" | "model" | "permission">;
  /** The workspace, as the agent sees it */
  readonly cwd: string;
  /** The id of the conversation to resume; `undefined` begins one */
  readonly id: string | undefined;
  /** The time of its begin, if known */
  readonly begunMs: number | undefined;
  /** The MCP servers for it, if it takes them */
  readonly servers: OfferedServers["servers"];
  /** Returns the limit of the next request */
  readonly limitMs: () => number;
};

const { agent: METHODS } = methods;

/**
 * Begins or resumes a conversation. Throws `SESSION_UNUSABLE` if it cannot be resumed, and `AGENT_NOT_FOUND` if an agent other than the
 * requested one would answer. Never begins a new one in place of the one to resume.
 */
export async function openConversation(connection: Connection, options: OpenOptions): Promise<Conversation> {
  const found = await initialize(connection, options);
  const { kiro } = options.program;
  if (kiro !== undefined) proveHarness(options.agent, kiro, found._meta);
  const takesServers = found.mcpCapabilities?.http === true;
  const mcpServers = takesServers ? options.servers.map(toHttpServer) : [];
  const place = { cwd: options.cwd, mcpServers, ...conversationMeta(kiro) };
  const opened =
    options.id === undefined
      ? await begin(connection, { ...options, place })
      : await resume(connection, { ...options, place, id: options.id }, found);
  const conversation = { ...options, ...opened };
  const warnings = await (kiro?.harness === "v3"
    ? prepareV3(connection, conversation, kiro)
    : prepare(connection, conversation));
  return { id: opened.id, begunMs: opened.begunMs, program: found.program, warnings, takesServers };
}

async function initialize(connection: Connection, options: OpenOptions): Promise<Found> {
  const { agentCapabilities, agentInfo, protocolVersion } = await connection.request(
    METHODS.initialize,
    {
      protocolVersion: PROTOCOL_VERSION,
      // The client is the host: an agent that could read files or start terminals through it would escape its sandbox.
      clientCapabilities: {},
      clientInfo: { name: "budgie", version: "1" },
    },
    { answer: initialized, timeoutMs: options.limitMs() },
  );
  if (protocolVersion !== PROTOCOL_VERSION) {
    throw new BudgieError(
      "AGENT_FAILED",
      `The program of the agent "${options.agent}" speaks version ${protocolVersion} of ACP, and budgie speaks ${PROTOCOL_VERSION}. Use another version of it.`,
    );
  }
  return { ...agentCapabilities, program: agentInfo?.name };
}

async function prepare(connection: Connection, conversation: OpenOptions & Opened): Promise<readonly string[]> {
  await checkMode(connection, conversation);
  await setAskingMode(connection, { ...conversation, modes: conversation.state?.modes });
  return setModel(connection, conversation);
}

/** Prepares a conversation with Kiro's V3 harness. Each request waits for what V3 reports before its answer. */
async function prepareV3(
  connection: Connection,
  conversation: OpenOptions & Opened,
  { agent }: Extract<KiroRequest, { readonly harness: "v3" }>,
): Promise<readonly string[]> {
  proveAgent(conversation.agent, agent.id, conversation.state?.modes);
  await switchAutopilotOff(connection, conversation);
  const warnings = await setModel(connection, conversation);
  refuseRefused(connection, conversation.agent);
  return warnings;
}

/** Returns a server in ACP's form. The path of its URL authorizes the client, so there are no headers. */
function toHttpServer({ name, url }: OfferedServers["servers"][number]): McpServer {
  return { type: "http", name, url, headers: [] };
}

const capabilities = z.object({
  _meta: kiroCapabilities,
  loadSession: z.boolean().nullish(),
  mcpCapabilities: z.object({ http: z.unknown() }).partial().nullish(),
  sessionCapabilities: z.object({ resume: z.unknown() }).partial().nullish(),
});

const initialized = z.object({
  protocolVersion: z.number(),
  agentCapabilities: capabilities.nullish(),
  agentInfo: z.object({ name: z.string() }).optional().catch(undefined),
});

type Found = z.infer<typeof capabilities> & {
  /** The name by which the program introduces itself */
  readonly program: string | undefined;
};

const state = z.object({
  // The lists are checked by hand: a schema keeps an issue for each invalid entry.
  modes: z.object({ currentModeId: z.string(), availableModes: z.unknown().optional() }).nullish(),
  configOptions: z.unknown().optional(),
});

const begun = state.extend({ sessionId: z.string().min(1).max(1000) });

/** The parts of the answers to `session/new`, `session/resume` and `session/load` that budgie reads; the last two may be `null`. */
type State = z.infer<typeof state> | null;

type Opening = Pick<OpenOptions, "agent" | "limitMs" | "program"> & {
  readonly place: { readonly cwd: string; readonly mcpServers: readonly McpServer[] };
};

type Opened = { readonly id: string; readonly begunMs?: number | undefined; readonly state: State };

async function begin(connection: Connection, { limitMs, place }: Opening): Promise<Opened> {
  const begunMs = Date.now();
  const opened = await connection.request(METHODS.session.new, place, { answer: begun, timeoutMs: limitMs() });
  return { id: opened.sessionId, begunMs, state: opened };
}

async function resume(
  connection: Connection,
  {
    agent,
    begunMs,
    id,
    limitMs,
    place,
    program,
  }: Opening & { readonly id: string; readonly begunMs: number | undefined },
  { loadSession, program: name, sessionCapabilities }: Found,
): Promise<Opened> {
  const params = { sessionId: id, ...place };
  const expected = () => ({ answer: state.nullable(), timeoutMs: limitMs() });
  const isV3 = program.kiro?.harness === "v3";
  try {
    if (isV3) await findListed(connection, { agent, id, limitMs, cwd: place.cwd });
    if (sessionCapabilities?.resume && !isV3) {
      const resumed = await connection.request(METHODS.session.resume, params, expected()).catch(unlessUnknown);
      if (resumed !== UNKNOWN) return { id, state: resumed };
    }
    if (loadSession) {
      await untilLoadable(connection, { agent, begunMs, limitMs, program: name });
      const quiet = untilQuiet(connection);
      const loaded = await connection.request(METHODS.session.load, params, expected());
      await quiet();
      return { id, state: loaded };
    }
  } catch (error) {
    throw resumeFailure(error, agent, name);
  }
  throw new BudgieError(
    "SESSION_UNUSABLE",
    `The program of the agent "${agent}" cannot resume a conversation. Begin a new session.`,
  );
}

function resumeFailure(cause: unknown, agent: string, program: string | undefined): unknown {
  // Kiro's program exits like this if it does not know the conversation. An exit that budgie requested proves nothing.
  if (cause instanceof EndedError && cause.exit.exitCode === 0 && cause.exit.reason === undefined) {
    const message = `The program of the agent "${agent}" ended instead of resuming its conversation. Begin a new session.`;
    return new BudgieError("SESSION_UNUSABLE", message, { cause });
  }
  if (!(cause instanceof RequestError) || cause.code === CODES.authRequired) return cause;
  // Most programs have no code for an unknown conversation. Any other error may be temporary, and must not cost the session.
  const what = `The agent "${agent}" could not resume its conversation (${formatRequestError(cause)}).`;
  if (cause.code === CODES.resourceNotFound || isLostByGemini(formatRequestError(cause), program)) {
    return new BudgieError("SESSION_UNUSABLE", `${what} Begin a new session.`, { cause });
  }
  return new BudgieError("AGENT_FAILED", `${what} Ask again, or begin a new session.`, { cause });
}

const UNKNOWN = Symbol("unknown method");

/** Some agents, such as Qwen Code, advertise `session/resume` and do not have it. */
function unlessUnknown(error: unknown): typeof UNKNOWN {
  if (error instanceof RequestError && error.code === CODES.methodNotFound) return UNKNOWN;
  throw error;
}

const QUIET_MS = 100;
const LONGEST_REPLAY_MS = 10_000;

/** Returns a function that resolves after 100 ms without an update: an agent may answer `session/load` before it replays the history. */
function untilQuiet(connection: Connection): () => Promise<void> {
  let last = performance.now();
  connection.onUpdate(() => (last = performance.now()));
  return async () => {
    const end = performance.now() + LONGEST_REPLAY_MS;
    do {
      await sleep(QUIET_MS);
      // Lets a busy process read the updates that have arrived meanwhile.
      await nextTask();
    } while (performance.now() - last < QUIET_MS && performance.now() < end);
    connection.onUpdate(undefined);
  };
}
