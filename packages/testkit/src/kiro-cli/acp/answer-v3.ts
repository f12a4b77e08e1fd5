import { randomUUID } from "node:crypto";
import { loadUserRules } from "../agent/user-rules.ts";
import { toSessionFiles } from "../state/session-files.ts";
import { toConversation, type Conversation } from "../state/conversation.ts";
import { answerPrompt, type AcpSession } from "./answer-prompt.ts";
import { setConfigOption, toConfigOptions } from "./to-config-options.ts";
import { parseCustomAgents } from "./custom-agents.ts";
import { toRpcError, type Params } from "./serve-json-rpc.ts";
import { collectModes, findMode, toModeState, type Modes } from "./modes.ts";
import { enterFolder, findSession, openSession, replay, toId, type AcpServer } from "./serve-acp.ts";

type V3 = AcpServer & {
  readonly modes: Map<string, Modes>;
  /** The mode that each client sees, which need not be that of the agent */
  readonly shown: Map<string, string>;
  runsHooks: boolean;
};

/** Creates the answers of V3, whose agents come from the client, the user and the repository. */
export function answerV3(place: AcpServer): (method: string, params: Params) => Promise<unknown> {
  const v3: V3 = { ...place, modes: new Map(), shown: new Map(), runsHooks: false };
  return async (method, params) => {
    switch (method) {
      case "initialize":
        v3.runsHooks = toKiroMeta((params["clientCapabilities"] ?? {}) as Params).hooks !== undefined;
        return toCapabilities(place);
      case "session/new":
        return begin(toConversation(`sess_${randomUUID()}`), params, v3);
      case "session/load":
        return load(params, v3);
      case "session/list":
        return listSessions(params);
      case "session/delete":
        toSessionFiles("v3").remove(toId(params));
        return {};
      case "session/prompt":
        return prompt(params, v3);
      case "session/set_mode":
        return setMode(params, v3);
      case "session/set_config_option":
        setConfigOption(findSession(params, v3), params);
        return { configOptions: toOptions(findSession(params, v3), v3) };
      default:
        throw toRpcError(-32_601, "Method not found", method);
    }
  };
}

/** The part of a message's `_meta` that is Kiro's. */
type KiroMeta = { readonly customAgents?: unknown; readonly modeId?: string; readonly hooks?: unknown };

function toKiroMeta(params: Params): KiroMeta {
  const { kiro = {} } = (params["_meta"] ?? {}) as { readonly kiro?: KiroMeta };
  return kiro;
}

function toCapabilities({ options: { settings } }: AcpServer) {
  return {
    protocolVersion: 1,
    agentInfo: { name: "Kiro CLI Agent", version: settings.traits.version },
    agentCapabilities: {
      loadSession: true,
      mcpCapabilities: { http: true, sse: true },
      promptCapabilities: { image: true, audio: false, embeddedContext: true },
      sessionCapabilities: { list: {}, delete: {} },
      _meta: { kiro: { extensionMethods: ["_kiro/session/context", "_kiro/session/compact"] } },
    },
    authMethods: [],
  };
}

/** Lists the conversations of a directory, which the client names (inf). */
function listSessions({ cwd = process.cwd() }: Params) {
  const ids = toSessionFiles("v3", String(cwd)).list();
  return { sessions: ids.map((sessionId) => ({ sessionId, cwd })) };
}

async function load(params: Params, v3: V3): Promise<unknown> {
  process.chdir(String(params["cwd"]));
  // An unknown id creates a conversation.
  const conversation = toSessionFiles("v3").load(toId(params)) ?? toConversation(toId(params));
  await replay(conversation, v3.client);
  const { sessionId: _, ...state } = await begin(conversation, params, v3);
  return state;
}

async function begin(conversation: Conversation, params: Params, v3: V3) {
  const { client, options, runsHooks } = v3;
  const { id: sessionId, model } = conversation;
  enterFolder(params, v3);
  await takeToken(v3);
  const { customAgents, modeId = conversation.agent ?? "vibe" } = toKiroMeta(params);
  const custom = parseCustomAgents(customAgents);
  const { modes, warnings } = await collectModes(custom.agents, options.settings);
  const { error, rules } = await loadUserRules();
  for (const each of custom.errors) await client.notify("_kiro/customAgent/config_error", { sessionId, ...each });
  if (error !== undefined) await client.notify("_kiro/policy/error", { sessionId, ...error });

  const agent = await findMode(modeId, { client, id: sessionId, modes });
  const { save } = toSessionFiles("v3");
  save(conversation);
  const policy = { rules, autopilot: true };
  const session = await openSession({ agent, conversation, warnings, runsHooks, save, v3: policy }, v3);
  session.model = model;
  v3.modes.set(sessionId, modes);
  v3.shown.set(sessionId, agent.name);
  const servers = [...session.servers.connections.keys()].map((name) => ({ name, status: "connected" }));
  await client.notify("_kiro/mcp/status", { sessionId, servers });
  offerModels(session, v3);
  const configOptions = toOptions(session, v3).filter(({ id }) => id !== "model");
  return { sessionId, modes: toModeState(modes, agent.name), configOptions };
}

/** Asks the client for a token, as V3 does if `kiro-cli` has not the login. */
async function takeToken({ client, options }: AcpServer): Promise<void> {
  if (options.ownsLogin) return;
  const token = await client.ask("_kiro/auth/getAccessToken", {}).catch(() => undefined);
  if (token === undefined) throw toRpcError(-32_000, "Authentication required", "The client has no token.");
}

/** Sends the option for the model, after the answer that begins the session. */
function offerModels(session: AcpSession, v3: V3): void {
  const update = { sessionUpdate: "config_option_update", configOptions: toOptions(session, v3) };
  const params = { sessionId: session.conversation.id, update };
  setImmediate(() => void v3.client.notify("session/update", params));
}

function toOptions(session: AcpSession, { shown }: V3) {
  return toConfigOptions(session, shown.get(session.conversation.id) ?? "vibe");
}

/** Answers a prompt. The mode that it names counts, not the one that the client has set since the first prompt. */
async function prompt(params: Params, { modes, ...v3 }: V3): Promise<unknown> {
  const session = findSession(params, v3);
  const id = toId(params);
  const { modeId } = toKiroMeta(params);
  if (modeId !== undefined) {
    session.agent = await findMode(modeId, { client: v3.client, id, modes: modes.get(id) ?? new Map() });
  }
  return answerPrompt(session, params);
}

/** Sets the mode. An unknown one has no effect, but is told. */
async function setMode(params: Params, { client, modes, shown, ...place }: V3) {
  const session = findSession(params, { client, ...place });
  const id = toId(params);
  const modeId = String(params["modeId"]);
  const agent = await findMode(modeId, { client, id, modes: modes.get(id) ?? new Map() });
  if (agent.name !== modeId) return {};
  shown.set(id, modeId);
  if (session.conversation.history.length === 0) session.agent = agent;
  return {};
}
