import { randomUUID } from "node:crypto";
import { loadAgents, pickAgent, type AgentSet } from "../agent/load-agents.ts";
import type { KiroAgent } from "../agent/kiro-agent.ts";
import { toExitError } from "../profile/exit-error.ts";
import { MODELS } from "../profile/models.ts";
import type { Settings } from "../profile/settings.ts";
import { toSessionFiles } from "../state/session-files.ts";
import { toConversation, type Conversation } from "../state/conversation.ts";
import { answerPrompt } from "./answer-prompt.ts";
import { toRpcError, type Params } from "./serve-json-rpc.ts";
import { enterFolder, findSession, openSession, replay, toId, type AcpServer } from "./serve-acp.ts";

/** Creates the answers of V2, whose agent is chosen by the command line. */
export function answerV2(place: AcpServer): (method: string, params: Params) => Promise<unknown> {
  const { options } = place;
  return async (method, params) => {
    switch (method) {
      case "initialize":
        return toCapabilities(options.settings);
      case "session/new":
        return begin(toConversation(randomUUID()), params, place);
      case "session/load":
        return load(params, place);
      case "session/prompt":
        return answerPrompt(findSession(params, place), params);
      case "session/set_mode":
        return setMode(params, place);
      default:
        throw toRpcError(-32_601, "Method not found", method);
    }
  };
}

function toCapabilities({ traits }: Settings) {
  return {
    protocolVersion: 1,
    agentInfo: { name: "Kiro CLI Agent", version: traits.version },
    agentCapabilities: {
      loadSession: true,
      mcpCapabilities: { http: true, sse: false },
      promptCapabilities: { image: true, audio: false, embeddedContext: false },
    },
    authMethods: [],
  };
}

async function load(params: Params, place: AcpServer): Promise<unknown> {
  const stored = toSessionFiles("v2").load(toId(params));
  // The real program ends without a word.
  if (stored === undefined) throw toExitError(0, "");
  await replay(stored, place.client);
  const { sessionId: _, ...state } = await begin(stored, params, place);
  return state;
}

async function begin(conversation: Conversation, params: Params, place: AcpServer) {
  const { client, options } = place;
  const { settings } = options;
  enterFolder(params, place);
  const set = await loadAgents(settings);
  const asked = options.agent ?? conversation.agent;
  const { agent, warning } = pickAgent(asked, set, settings);
  const warnings = [...set.warnings, ...(warning === undefined ? [] : [warning])];
  const { save } = toSessionFiles("v2");
  await openSession({ agent, conversation, warnings, runsHooks: true, save, v3: undefined }, place);
  if (warning !== undefined) {
    const fallback = { requestedAgent: asked, fallbackAgent: agent.name };
    await client.notify("_kiro.dev/agent/not_found", { sessionId: conversation.id, ...fallback });
  }
  const models = MODELS.map((modelId) => ({ modelId, name: modelId }));
  const currentModelId = options.model ?? agent.model ?? "auto";
  const state = { modes: toModes(set, agent), models: { currentModelId, availableModels: models } };
  return { sessionId: conversation.id, ...state };
}

function toModes({ agents }: AgentSet, { name: currentModeId }: KiroAgent) {
  const names = [...agents.keys(), "kiro_default"];
  return { currentModeId, availableModes: names.map((name) => ({ id: name, name })) };
}

async function setMode(params: Params, place: AcpServer) {
  const name = String(params["modeId"]);
  const { agents } = await loadAgents(place.options.settings);
  const agent = agents.get(name);
  if (agent === undefined) throw toRpcError(-32_603, "Internal error", `Mode '${name}' not found`);
  findSession(params, place).agent = agent;
  return {};
}
