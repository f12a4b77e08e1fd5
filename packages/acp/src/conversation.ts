import { setImmediate as nextTask, setTimeout as sleep } from "node:timers/promises";
import { methods, PROTOCOL_VERSION, RequestError, type McpServer } from "@agentclientprotocol/sdk";
import { z } from "zod";
import { BudgieError, type OfferedServers } from "@budgie/core";
import { toTitle } from "./answer/answer.ts";
import type { AcpProgram } from "./acp-program.ts";
import { setAskingMode } from "./asking-mode.ts";
import { EndedError, type Connection } from "./connection.ts";
import { toOneLine } from "./answer/one-line.ts";

/** A conversation with an agent: what ACP calls a session. */
export type Conversation = {
  readonly id: string;
  readonly warnings: readonly string[];
  /** True if the program takes MCP servers over HTTP */
  readonly takesServers: boolean;
};

export type OpenOptions = {
  /** The agent's name, for messages */
  readonly agent: string;
  readonly program: Pick<AcpProgram, "mode" | "model" | "permission">;
  /** The workspace, as the agent sees it */
  readonly cwd: string;
  /** The id of the conversation to resume; `undefined` begins one */
  readonly id: string | undefined;
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
  const { agentCapabilities, protocolVersion } = await connection.request(
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
  const takesServers = agentCapabilities?.mcpCapabilities?.http === true;
  const place = { cwd: options.cwd, mcpServers: takesServers ? options.servers.map(toHttpServer) : [] };
  const { id, state } =
    options.id === undefined
      ? await begin(connection, { ...options, place })
      : await resume(connection, { ...options, place, id: options.id }, agentCapabilities ?? {});
  await checkMode(connection, { ...options, id, state });
  await setAskingMode(connection, { ...options, id, modes: state?.modes, setMode });
  return { id, warnings: await setModel(connection, { ...options, id, state }), takesServers };
}

/** Returns a server in ACP's form. The path of its URL authorizes the client, so there are no headers. */
function toHttpServer({ name, url }: OfferedServers["servers"][number]): McpServer {
  return { type: "http", name, url, headers: [] };
}

const capabilities = z.object({
  loadSession: z.boolean().nullish(),
  mcpCapabilities: z.object({ http: z.unknown() }).partial().nullish(),
  sessionCapabilities: z.object({ resume: z.unknown() }).partial().nullish(),
});

const initialized = z.object({ protocolVersion: z.number(), agentCapabilities: capabilities.nullish() });

const state = z.object({
  // The lists are checked by hand: a schema keeps an issue for each invalid entry.
  modes: z.object({ currentModeId: z.string(), availableModes: z.unknown().optional() }).nullish(),
  configOptions: z.unknown().optional(),
});

const begun = state.extend({ sessionId: z.string().min(1).max(1000) });

/** The parts of the answers to `session/new`, `session/resume` and `session/load` that budgie reads; the last two may be `null`. */
type State = z.infer<typeof state> | null;

type Opening = Pick<OpenOptions, "agent" | "limitMs"> & {
  readonly place: { readonly cwd: string; readonly mcpServers: readonly McpServer[] };
};

type Opened = { readonly id: string; readonly state: State };

async function begin(connection: Connection, { limitMs, place }: Opening): Promise<Opened> {
  const opened = await connection.request(METHODS.session.new, place, { answer: begun, timeoutMs: limitMs() });
  return { id: opened.sessionId, state: opened };
}

async function resume(
  connection: Connection,
  { agent, id, limitMs, place }: Opening & { readonly id: string },
  { loadSession, sessionCapabilities }: z.infer<typeof capabilities>,
): Promise<Opened> {
  const params = { sessionId: id, ...place };
  const expected = () => ({ answer: state.nullable(), timeoutMs: limitMs() });
  try {
    if (sessionCapabilities?.resume) {
      const resumed = await connection.request(METHODS.session.resume, params, expected()).catch(unlessUnknown);
      if (resumed !== UNKNOWN) return { id, state: resumed };
    }
    if (loadSession) {
      const quiet = untilQuiet(connection);
      const loaded = await connection.request(METHODS.session.load, params, expected());
      await quiet();
      return { id, state: loaded };
    }
  } catch (error) {
    throw toResumeFailure(error, agent);
  }
  throw new BudgieError(
    "SESSION_UNUSABLE",
    `The program of the agent "${agent}" cannot resume a conversation. Begin a new session.`,
  );
}

function toResumeFailure(cause: unknown, agent: string): unknown {
  // Kiro's program exits like this if it does not know the conversation. An exit that budgie requested proves nothing.
  if (cause instanceof EndedError && cause.exit.exitCode === 0 && cause.exit.reason === undefined) {
    const message = `The program of the agent "${agent}" ended instead of resuming its conversation. Begin a new session.`;
    return new BudgieError("SESSION_UNUSABLE", message, { cause });
  }
  if (!(cause instanceof RequestError) || cause.code === AUTH_REQUIRED) return cause;
  // Most programs have no code for an unknown conversation. Any other error may be temporary, and must not cost the session.
  return new BudgieError(
    cause.code === RESOURCE_NOT_FOUND ? "SESSION_UNUSABLE" : "AGENT_FAILED",
    `The agent "${agent}" could not resume its conversation (${toReason(cause)}). Ask again, or begin a new session.`,
    { cause },
  );
}

// Codes of JSON-RPC and ACP
const METHOD_NOT_FOUND = -32_601;
const RESOURCE_NOT_FOUND = -32_002;
const INVALID_PARAMS = -32_602;
export const AUTH_REQUIRED = -32_000;
const MODE_UNKNOWN: ReadonlySet<number> = new Set([METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, INVALID_PARAMS]);
const UNKNOWN = Symbol("unknown method");

/** Some agents, such as Qwen Code, advertise `session/resume` and do not have it. */
function unlessUnknown(error: unknown): typeof UNKNOWN {
  if (error instanceof RequestError && error.code === METHOD_NOT_FOUND) return UNKNOWN;
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

/** Checks that the requested agent answers, since another one could have more rights. */
async function checkMode(
  connection: Connection,
  { agent, id, limitMs, program, state }: OpenOptions & Opened,
): Promise<void> {
  const { mode } = program;
  const current = state?.modes?.currentModeId;
  if (mode === undefined || current === mode) return;
  // The answer for a resumed conversation need not name its mode.
  if (current === undefined && (await setMode(connection, { id, mode, limitMs }))) return;
  throw new BudgieError(
    "AGENT_NOT_FOUND",
    `${current === undefined ? "Another agent" : `The agent "${toTitle(current)}"`} would have answered in place of "${agent}". ` +
      `Check that the agent's file is valid and where its program looks for agents.`,
  );
}

type ModeRequest = Pick<OpenOptions, "limitMs"> & { readonly id: string; readonly mode: string };

/** Asks for a mode. Resolves to false if the program does not know it. */
export async function setMode(connection: Connection, { id, limitMs, mode }: ModeRequest): Promise<boolean> {
  const expected = { answer: z.unknown(), timeoutMs: limitMs() };
  try {
    await connection.request(METHODS.session.setMode, { sessionId: id, modeId: mode }, expected);
    return true;
  } catch (error) {
    // Any other error may be temporary, and must not cost the session.
    if (error instanceof RequestError && MODE_UNKNOWN.has(error.code)) return false;
    throw error;
  }
}

/** Asks for a model. Resolves to a warning if the program knows no way to choose one. */
async function setModel(
  connection: Connection,
  { agent, id, limitMs, program, state }: OpenOptions & Opened,
): Promise<readonly string[]> {
  const { model } = program;
  if (model === undefined) return [];
  const configId = findModelOption(state?.configOptions);
  const [method, params] =
    configId === undefined
      ? ["session/set_model", { sessionId: id, modelId: model }]
      : [METHODS.session.setConfigOption, { sessionId: id, configId, value: model }];
  try {
    await connection.request(method, params, { answer: z.unknown(), timeoutMs: limitMs() });
    return [];
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    if (error.code === METHOD_NOT_FOUND) {
      return [`The program of the agent "${agent}" cannot be given a model, so its own default answered.`];
    }
    throw new BudgieError(
      "AGENT_FAILED",
      `The agent "${agent}" refused the model "${model}" (${toReason(error)}). Choose another.`,
      { cause: error },
    );
  }
}

const MOST_OPTIONS = 1000;

/** Returns the id of the option for the model. */
function findModelOption(options: unknown): string | undefined {
  const listed: readonly unknown[] = Array.isArray(options) ? options.slice(0, MOST_OPTIONS) : [];
  return listed.flatMap((each) => modelOption.safeParse(each).data?.id ?? [])[0];
}

const modelOption = z.object({ id: z.string().max(1000), category: z.literal("model") });

const LONGEST_REASON = 1000;

/** Returns the reason of an agent's error: the message, and the detail that most agents put beside it. */
export function toReason({ code, data, message }: RequestError): string {
  const { details, message: inner } = (typeof data === "object" && data !== null ? data : {}) as Record<
    string,
    unknown
  >;
  const detail = [details, inner, data].find((text): text is string => typeof text === "string" && text !== message);
  return `${toOneLine(detail === undefined ? message : `${message}: ${detail}`).slice(0, LONGEST_REASON)}, ${code}`;
}
