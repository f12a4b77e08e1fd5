import { randomUUID } from "node:crypto";
import { loadAgents, pickAgent, type AgentSet, type KiroAgent } from "../agent/agents.ts";
import { runHooks } from "../agent/hooks.ts";
import { startMcpServers, type McpServers } from "../agent/mcp-servers.ts";
import type { ToolTrust } from "../agent/tools.ts";
import { write } from "../output/output.ts";
import { toExitError } from "../profile/exit-error.ts";
import { VERSIONS, type Settings } from "../profile/settings.ts";
import type { Conversation } from "../state/conversation-store.ts";
import { answerPrompt, type AcpSession } from "./answer-prompt.ts";
import { serveJsonRpc, toRpcError, type Client, type Params } from "./json-rpc.ts";
import { loadSession } from "./session-store.ts";

export type AcpOptions = {
  /** The agent of the command line */
  readonly agent: string | undefined;
  readonly model: string | undefined;
  readonly trust: ToolTrust;
  readonly settings: Settings;
  /** The reason why no session begins; `undefined` if there is a login */
  readonly loggedOut: string | undefined;
};

/** Speaks ACP on stdin and stdout until stdin ends. */
export async function serveAcp(options: AcpOptions): Promise<void> {
  const sessions = new Map<string, AcpSession>();
  const error = await new Promise<unknown>((end) => {
    const client: Client = serveJsonRpc({
      request: (method, params) => answer(method, params, { options, sessions, client }),
      notification: (method, params) => method === "session/cancel" && sessions.get(toId(params))?.cancel(),
      end,
    });
  });
  await Promise.all([...sessions.values()].map(({ servers }) => servers.stop()));
  if (error !== undefined) throw error;
  process.exit(0);
}

type Place = {
  readonly options: AcpOptions;
  readonly sessions: Map<string, AcpSession>;
  readonly client: Client;
};

async function answer(method: string, params: Params, place: Place): Promise<unknown> {
  switch (method) {
    case "initialize":
      return toCapabilities(place.options);
    case "session/new":
      return begin({ id: randomUUID(), agent: undefined, model: undefined, history: [] }, params, place);
    case "session/load":
      return load(params, place);
    case "session/prompt":
      return answerPrompt(findSession(params, place), params);
    case "session/set_mode":
      return setMode(findSession(params, place), String(params["modeId"]), place);
    case "session/set_model":
      // Has no effect if the command line names a model.
      findSession(params, place).model = place.options.model ?? String(params["modelId"]);
      return {};
    default:
      throw toRpcError(-32_601, "Method not found", method);
  }
}

function toCapabilities({ settings }: AcpOptions) {
  return {
    protocolVersion: 1,
    agentInfo: { name: "Kiro CLI Agent", version: VERSIONS[settings.profile] },
    agentCapabilities: {
      loadSession: true,
      mcpCapabilities: { http: true, sse: false },
      promptCapabilities: { image: true, audio: false, embeddedContext: false },
    },
    authMethods: [],
  };
}

async function load(params: Params, place: Place): Promise<unknown> {
  const stored = loadSession(toId(params));
  // The real program ends without a word.
  if (stored === undefined) throw toExitError(0, "");
  for (const { answer: text, prompt } of stored.history) {
    await replay(place.client, stored.id, ["user_message_chunk", prompt]);
    await replay(place.client, stored.id, ["agent_message_chunk", text]);
  }
  const { sessionId: _, ...state } = await begin(stored, params, place);
  return state;
}

function replay(client: Client, sessionId: string, [sessionUpdate, text]: readonly [string, string]): Promise<void> {
  return client.notify("session/update", { sessionId, update: { sessionUpdate, content: { type: "text", text } } });
}

async function begin(conversation: Conversation, params: Params, { client, options, sessions }: Place) {
  const { settings } = options;
  if (options.loggedOut !== undefined) throw toRpcError(-32_000, "Authentication required", options.loggedOut);
  // The real program ends without a word.
  if (!Array.isArray(params["mcpServers"])) throw toExitError(0, "");
  process.chdir(String(params["cwd"]));
  const set = loadAgents(settings.profile);
  const asked = options.agent ?? conversation.agent;
  const { agent, warning } = pickAgent(asked, set, settings);
  const warnings = [...set.warnings, ...(warning === undefined ? [] : [warning])];
  const servers = await startMcpServers(agent, settings.profile);
  for (const line of [...warnings, ...servers.warnings]) await write(process.stderr, `${line}\n`);
  await runHooks(agent, "agentSpawn", undefined);
  const { id } = conversation;
  sessions.set(id, createSession({ agent, client, conversation, options, servers }));
  if (warning !== undefined) {
    const fallback = { requestedAgent: asked, fallbackAgent: agent.name };
    await client.notify("_kiro.dev/agent/not_found", { sessionId: id, ...fallback });
  }
  const models = settings.models.map((modelId) => ({ modelId, name: modelId }));
  const currentModelId = options.model ?? agent.model ?? "auto";
  return { sessionId: id, modes: toModes(set, agent), models: { currentModelId, availableModels: models } };
}

type NewSession = Pick<Place, "client" | "options"> & {
  readonly agent: KiroAgent;
  readonly conversation: Conversation;
  readonly servers: McpServers;
};

function createSession({ agent, client, conversation, options, servers }: NewSession): AcpSession {
  return {
    agent,
    client,
    conversation,
    servers,
    model: options.model,
    settings: options.settings,
    trust: options.trust,
    cancel: () => undefined,
  };
}

function toModes({ agents }: AgentSet, { name: currentModeId }: KiroAgent) {
  const names = [...agents.keys(), "kiro_default"];
  return { currentModeId, availableModes: names.map((name) => ({ id: name, name })) };
}

function setMode(session: AcpSession, name: string, { options }: Place) {
  const { agents } = loadAgents(options.settings.profile);
  const agent = agents.get(name);
  if (agent === undefined) throw toRpcError(-32_603, "Internal error", `Mode '${name}' not found`);
  session.agent = agent;
  return {};
}

function findSession(params: Params, { sessions }: Place): AcpSession {
  const session = sessions.get(toId(params));
  if (session === undefined) throw toRpcError(-32_603, "Internal error", `Session '${toId(params)}' not found`);
  return session;
}

function toId(params: Params): string {
  return String(params["sessionId"]);
}
