import { setTimeout as sleep } from "node:timers/promises";
import { methods, PROTOCOL_VERSION, RequestError } from "@agentclientprotocol/sdk";
import { z } from "zod";
import { BudgieError, sanitizeText } from "@budgie/core";
import type { AcpProgram } from "./acp-program.ts";
import type { Connection } from "./connection.ts";

/** A conversation with an agent: what ACP calls a session. */
export type Conversation = {
  readonly id: string;
  readonly warnings: readonly string[];
};

export type OpenOptions = {
  /** The agent's name, for messages */
  readonly agent: string;
  readonly program: Pick<AcpProgram, "mode" | "model">;
  /** The workspace, as the agent sees it */
  readonly cwd: string;
  /** The id of the conversation to resume; `undefined` begins one */
  readonly id: string | undefined;
  /** The limit of each request */
  readonly timeoutMs: number;
};

const { agent: METHODS } = methods;

/**
 * Begins or resumes a conversation. Throws `SESSION_UNUSABLE` if it cannot be resumed, and `AGENT_NOT_FOUND` if another agent than the one
 * asked for would answer. Never begins a new one in place of the one to resume.
 */
export async function openConversation(connection: Connection, options: OpenOptions): Promise<Conversation> {
  const { timeoutMs } = options;
  const { agentCapabilities, protocolVersion } = await connection.request(
    METHODS.initialize,
    {
      protocolVersion: PROTOCOL_VERSION,
      // The client is the host: an agent that could read files or start terminals through it would be out of the sandbox.
      clientCapabilities: {},
      clientInfo: { name: "budgie", version: "1" },
    },
    { answer: initialized, timeoutMs },
  );
  if (protocolVersion !== PROTOCOL_VERSION) {
    throw new BudgieError(
      "AGENT_FAILED",
      `The program of the agent "${options.agent}" speaks version ${protocolVersion} of ACP, and budgie speaks ${PROTOCOL_VERSION}. Use another version of it.`,
    );
  }
  const { id, state } =
    options.id === undefined
      ? await begin(connection, options)
      : await resume(connection, { ...options, id: options.id }, agentCapabilities ?? {});
  await checkMode(connection, { ...options, id, state });
  return { id, warnings: await setModel(connection, { ...options, id, state }) };
}

const capabilities = z.object({
  loadSession: z.boolean().nullish(),
  sessionCapabilities: z.object({ resume: z.unknown() }).partial().nullish(),
});

const initialized = z.object({ protocolVersion: z.number(), agentCapabilities: capabilities.nullish() });

const state = z.object({
  modes: z.object({ currentModeId: z.string() }).nullish(),
  configOptions: z.array(z.object({ id: z.string(), category: z.string().nullish() })).nullish(),
});

const begun = state.extend({ sessionId: z.string().min(1).max(1000) });

/** The parts of the answers to `session/new`, `session/resume` and `session/load` that budgie reads; the last may be `null`. */
type State = z.infer<typeof state> | null;

type Opened = { readonly id: string; readonly state: State };

async function begin(connection: Connection, { cwd, timeoutMs }: OpenOptions): Promise<Opened> {
  const params = { cwd, mcpServers: [] };
  const opened = await connection.request(METHODS.session.new, params, { answer: begun, timeoutMs });
  return { id: opened.sessionId, state: opened };
}

async function resume(
  connection: Connection,
  { agent, cwd, id, timeoutMs }: OpenOptions & { readonly id: string },
  { loadSession, sessionCapabilities }: z.infer<typeof capabilities>,
): Promise<Opened> {
  const params = { sessionId: id, cwd, mcpServers: [] };
  const expected = { answer: state.nullable(), timeoutMs };
  try {
    if (sessionCapabilities?.resume) {
      const resumed = await connection.request(METHODS.session.resume, params, expected).catch(unlessUnknown);
      if (resumed !== UNKNOWN) return { id, state: resumed };
    }
    if (loadSession) {
      const quiet = untilQuiet(connection);
      const loaded = await connection.request(METHODS.session.load, params, expected);
      await quiet();
      return { id, state: loaded };
    }
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    throw new BudgieError(
      "SESSION_UNUSABLE",
      `The agent "${agent}" could not resume its conversation (${toReason(error)}). Begin a new session.`,
      { cause: error },
    );
  }
  throw new BudgieError(
    "SESSION_UNUSABLE",
    `The program of the agent "${agent}" cannot resume a conversation. Begin a new session.`,
  );
}

const METHOD_NOT_FOUND = -32601;
const UNKNOWN = Symbol("unknown method");

/** Some agents, such as Qwen Code, advertise `session/resume` and do not have it. */
function unlessUnknown(error: unknown): typeof UNKNOWN {
  if (error instanceof RequestError && error.code === METHOD_NOT_FOUND) return UNKNOWN;
  throw error;
}

const QUIET_MS = 100;
const LONGEST_REPLAY_MS = 10_000;

/** Returns a function that resolves when no update has come for some time: an agent may answer `session/load` before it replays the history. */
function untilQuiet(connection: Connection): () => Promise<void> {
  let last = performance.now();
  connection.onUpdate(() => (last = performance.now()));
  return async () => {
    const end = performance.now() + LONGEST_REPLAY_MS;
    do await sleep(QUIET_MS);
    while (performance.now() - last < QUIET_MS && performance.now() < end);
    connection.onUpdate(undefined);
  };
}

/** Checks that the agent that was asked for answers. Another one could have more rights. */
async function checkMode(
  connection: Connection,
  { agent, id, program, state, timeoutMs }: OpenOptions & Opened,
): Promise<void> {
  const { mode } = program;
  const current = state?.modes?.currentModeId;
  if (mode === undefined || current === mode) return;
  const params = { sessionId: id, modeId: mode };
  // The answer for a resumed conversation need not name its mode.
  if (
    current === undefined &&
    (await isAccepted(connection.request(METHODS.session.setMode, params, { answer: z.unknown(), timeoutMs })))
  )
    return;
  throw new BudgieError(
    "AGENT_NOT_FOUND",
    `${current === undefined ? "Another agent" : `The agent "${current}"`} would have answered in place of "${agent}". ` +
      `Check that the agent's file is valid and where its program looks for agents.`,
  );
}

async function isAccepted(request: Promise<unknown>): Promise<boolean> {
  return request.then(
    () => true,
    (error: unknown) => {
      if (error instanceof RequestError) return false;
      throw error;
    },
  );
}

/** Asks for a model. Resolves to a warning if the program knows no way to choose one. */
async function setModel(
  connection: Connection,
  { agent, id, program, state, timeoutMs }: OpenOptions & Opened,
): Promise<readonly string[]> {
  const { model } = program;
  if (model === undefined) return [];
  const option = state?.configOptions?.find(({ category }) => category === "model");
  const [method, params] =
    option === undefined
      ? ["session/set_model", { sessionId: id, modelId: model }]
      : [METHODS.session.setConfigOption, { sessionId: id, configId: option.id, value: model }];
  try {
    await connection.request(method, params, { answer: z.unknown(), timeoutMs });
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

const LONGEST_REASON = 1000;

/** Returns the reason of an agent's error: the message, and the detail that most agents put beside it. */
export function toReason({ code, data, message }: RequestError): string {
  const { details, message: inner } = (typeof data === "object" && data !== null ? data : {}) as Record<
    string,
    unknown
  >;
  const detail = [details, inner, data].find((text): text is string => typeof text === "string" && text !== message);
  const text = detail === undefined ? message : `${message}: ${detail}`;
  return `${sanitizeText(text).replace(/\s+/g, " ").slice(0, LONGEST_REASON)}, ${code}`;
}
