import { randomUUID } from "node:crypto";
import { loadAgents } from "../agent/agents.ts";
import { toBundledAgent, type KiroAgent } from "../agent/kiro-agent.ts";
import { VERSIONS } from "../profile/settings.ts";
import type { Conversation } from "../state/conversation-store.ts";
import { deleteV3Session, listV3Sessions, loadV3Session, saveV3Session } from "../state/v3-sessions.ts";
import { answerPrompt, type AcpSession } from "./answer-prompt.ts";
import { setConfigOption, toConfigOptions } from "./config-options.ts";
import { parseCustomAgents } from "./custom-agents.ts";
import { toRpcError, type Params } from "./json-rpc.ts";
import { enterFolder, findSession, openSession, replay, toId, type Place } from "./serve-acp.ts";

/** The modes of a session. */
type Modes = {
  readonly agents: ReadonlyMap<string, KiroAgent>;
  /** The mode that the client sees, which need not be that of the agent */
  shown: string;
};

type V3 = Place & { readonly modes: Map<string, Modes>; clientMeta: KiroMeta };

/** Creates the answers of V3, whose agents come from the client, the user and the repository. */
export function answerV3(place: Place): (method: string, params: Params) => Promise<unknown> {
  const v3: V3 = { ...place, modes: new Map(), clientMeta: {} };
  return async (method, params) => {
    switch (method) {
      case "initialize":
        v3.clientMeta = toKiroMeta((params["clientCapabilities"] ?? {}) as Params);
        return toCapabilities(place);
      case "session/new":
        return begin(toConversation(`sess_${randomUUID()}`), params, v3);
      case "session/load":
        return load(params, v3);
      case "session/list":
        return { sessions: listV3Sessions().map(({ cwd, id }) => ({ sessionId: id, cwd })) };
      case "session/delete":
        deleteV3Session(toId(params));
        return {};
      case "session/prompt":
        return prompt(params, v3);
      case "session/set_mode":
        return setMode(params, v3);
      case "session/set_config_option":
        return setOption(params, v3);
      default:
        throw toRpcError(-32_601, "Method not found", method);
    }
  };
}

function toConversation(id: string): Conversation {
  return { id, agent: undefined, model: undefined, history: [] };
}

/** The part of a message's `_meta` that is Kiro's. */
type KiroMeta = {
  readonly customAgents?: unknown;
  readonly modeId?: string;
  readonly hooks?: unknown;
};

function toKiroMeta(params: Params): KiroMeta {
  const { kiro = {} } = (params["_meta"] ?? {}) as { readonly kiro?: KiroMeta };
  return kiro;
}

function toCapabilities({ options: { settings } }: Place) {
  return {
    protocolVersion: 1,
    agentInfo: { name: "Kiro CLI Agent", version: VERSIONS[settings.profile] },
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

async function load(params: Params, v3: V3): Promise<unknown> {
  process.chdir(String(params["cwd"]));
  // An unknown id creates a conversation.
  const conversation = loadV3Session(toId(params)) ?? toConversation(toId(params));
  await replay(conversation, v3.client);
  const { sessionId: _, ...state } = await begin(conversation, params, v3);
  return state;
}

const BUNDLED = ["vibe", "spec", "plan"].map(toBundledAgent);
const [VIBE = toBundledAgent("vibe")] = BUNDLED;

async function begin(conversation: Conversation, params: Params, v3: V3) {
  const { client, clientMeta, options } = v3;
  const { id } = conversation;
  enterFolder(params, v3);
  await takeToken(v3);
  const { customAgents, modeId = conversation.agent } = toKiroMeta(params);
  const custom = parseCustomAgents(customAgents);
  const files = loadAgents(options.settings);
  // A later one replaces an earlier one of the same id.
  const inFolders = [...files.agents.values()];
  const inHome = inFolders.filter(({ origin }) => origin === "user");
  const inRepository = inFolders.filter(({ origin }) => origin === "workspace");
  const all = [...inHome, ...custom.agents, ...inRepository, ...BUNDLED];
  const agents = new Map(all.map((agent) => [agent.name, agent]));
  for (const error of custom.errors) await client.notify("_kiro/customAgent/config_error", { sessionId: id, ...error });

  const agent = await findAgent(modeId, { agents, client, id });
  const session = await openSession(
    {
      agent,
      conversation,
      warnings: files.warnings,
      runsHooks: clientMeta.hooks !== undefined,
      save: saveV3Session,
      v3: { rules: [], autopilot: true },
    },
    v3,
  );
  session.model = conversation.model;
  v3.modes.set(id, { agents, shown: agent.name });
  saveV3Session(conversation);
  const servers = [...session.servers.connections.keys()].map((name) => ({ name, status: "connected" }));
  await client.notify("_kiro/mcp/status", { sessionId: id, servers });
  offerModels(session, v3);
  const configOptions = toConfigOptions(session, agent.name).filter((option) => option.id !== "model");
  return { sessionId: id, modes: toModes(agents, agent.name), configOptions };
}

/** Asks the client for a token, as V3 does if `kiro-cli` has not the login. */
async function takeToken({ client, options }: Place): Promise<void> {
  if (options.ownsLogin) return;
  const token = await client.ask("_kiro/auth/getAccessToken", {}).catch(() => undefined);
  if (token === undefined) throw toRpcError(-32_000, "Authentication required", "The client has no token.");
}

type Known = Pick<Modes, "agents"> & Pick<Place, "client"> & { readonly id: string };

/** Returns the agent of a mode. The built-in agent answers for an unknown one, and the client is told so. */
async function findAgent(mode: string | undefined, { agents, client, id }: Known): Promise<KiroAgent> {
  const agent = agents.get(mode ?? VIBE.name);
  if (agent !== undefined) return agent;
  const fallback = { requestedAgent: mode, fallbackAgent: VIBE.name };
  await client.notify("_kiro/customAgent/not_found", { sessionId: id, ...fallback });
  return VIBE;
}

/** Sends the option for the model after the answer that begins the session, as versions since 2.20 do. */
function offerModels(session: AcpSession, { client, modes }: V3): void {
  setImmediate(() => {
    const { id } = session.conversation;
    const configOptions = toConfigOptions(session, modes.get(id)?.shown ?? VIBE.name);
    void client.notify("session/update", {
      sessionId: id,
      update: { sessionUpdate: "config_option_update", configOptions },
    });
  });
}

function toModes(agents: Modes["agents"], currentModeId: string) {
  const availableModes = [...agents.values()].map(({ name, origin }) => ({
    id: name,
    name,
    _meta: { kiro: { resource: { source: { origin } } } },
  }));
  return { currentModeId, availableModes };
}

/** Answers a prompt. The mode that it names counts, not the one that the client has set since the first prompt. */
async function prompt(params: Params, v3: V3): Promise<unknown> {
  const session = findSession(params, v3);
  const { id } = session.conversation;
  const { modeId } = toKiroMeta(params);
  const agents = v3.modes.get(id)?.agents ?? new Map<string, KiroAgent>();
  if (modeId !== undefined) session.agent = await findAgent(modeId, { agents, client: v3.client, id });
  return answerPrompt(session, params);
}

async function setMode(params: Params, v3: V3) {
  const session = findSession(params, v3);
  const id = toId(params);
  const modes = v3.modes.get(id);
  const agent = modes?.agents.get(String(params["modeId"]));
  if (modes === undefined || agent === undefined) {
    const fallback = { requestedAgent: params["modeId"], fallbackAgent: VIBE.name };
    await v3.client.notify("_kiro/customAgent/not_found", { sessionId: id, ...fallback });
    return {};
  }
  modes.shown = agent.name;
  if (session.conversation.history.length === 0) session.agent = agent;
  return {};
}

function setOption(params: Params, v3: V3) {
  const session = findSession(params, v3);
  setConfigOption(session, params);
  return { configOptions: toConfigOptions(session, v3.modes.get(toId(params))?.shown ?? VIBE.name) };
}
