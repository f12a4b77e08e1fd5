import { runHooks } from "../agent/run-hooks.ts";
import type { KiroAgent } from "../agent/kiro-agent.ts";
import type { McpServers } from "../agent/mcp-servers.ts";
import type { ToolTrust, V3Policy } from "../agent/decide-tool.ts";
import { MODELS } from "../profile/models.ts";
import type { Output } from "../output/output.ts";
import type { Settings } from "../profile/settings.ts";
import { reply } from "../script/reply.ts";
import type { Conversation } from "../state/conversation.ts";
import { createAcpOutput } from "./acp-output.ts";
import { toRpcError, type Client, type Params } from "./serve-json-rpc.ts";

/** A conversation over ACP, and its present agent and model. */
export type AcpSession = {
  readonly client: Client;
  readonly settings: Settings;
  readonly servers: McpServers;
  readonly runsHooks: boolean;
  readonly save: (conversation: Conversation) => void;
  agent: KiroAgent;
  /** `undefined` leaves the choice to the agent's file */
  model: string | undefined;
  readonly trust: ToolTrust;
  v3: V3Policy | undefined;
  conversation: Conversation;
  /** Ends the running turn */
  cancel: () => void;
};

/** Answers `session/prompt`: runs the prompt's script, and resolves to the reason why the turn ended. */
export async function answerPrompt(session: AcpSession, params: Params): Promise<{ readonly stopReason: string }> {
  const text = toText(params["prompt"]);
  const cancelling = new AbortController();
  const cancelled = new Promise<void>((resolve) => (session.cancel = resolve));
  const output = createAcpOutput({
    client: session.client,
    harness: session.settings.harness,
    sessionId: session.conversation.id,
    signal: cancelling.signal,
  });
  const turn = runTurn(session, { text, output });
  turn.catch(() => undefined);
  const isCancelled = await Promise.race([turn.then(() => false), cancelled.then(() => true)]);
  if (!isCancelled) return { stopReason: "end_turn" };
  cancelling.abort();
  return { stopReason: "cancelled" };
}

function toText(prompt: unknown): string {
  const blocks = Array.isArray(prompt) ? (prompt as readonly { readonly text?: string }[]) : [];
  return blocks.map((block) => block.text ?? "").join("");
}

type AskedTurn = { readonly text: string; readonly output: Output };

async function runTurn(session: AcpSession, { output, text }: AskedTurn): Promise<void> {
  const { agent, conversation, settings } = session;
  const model = session.model ?? agent.model ?? "auto";
  if (!MODELS.includes(model)) throw toRpcError(-32_603, "Internal error", `Model '${model}' does not exist.`);
  if (session.runsHooks) await runHooks(agent, "userPromptSubmit");
  await reply({
    prompt: text,
    agent,
    model,
    policy: session,
    conversation,
    settings,
    output,
    connections: session.servers.connections,
    save(answer) {
      const history = [...conversation.history, { prompt: text, answer }];
      session.conversation = { ...conversation, agent: agent.name, model, history };
      session.save(session.conversation);
    },
  });
}
