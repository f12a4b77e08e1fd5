import { runHooks } from "../agent/run-hooks.ts";
import type { KiroAgent } from "../agent/kiro-agent.ts";
import { startMcpServers } from "../agent/mcp-servers.ts";
import type { ToolTrust } from "../agent/decide-tool.ts";
import { write } from "../output/output.ts";
import { toExitError } from "../profile/exit-error.ts";
import type { Settings } from "../profile/settings.ts";
import type { Conversation } from "../state/conversation.ts";
import type { AcpSession } from "./answer-prompt.ts";
import { serveJsonRpc, toRpcError, type Client, type Params } from "./serve-json-rpc.ts";

export type AcpOptions = {
  /** The agent of the command line */
  readonly agent: string | undefined;
  readonly model: string | undefined;
  readonly trust: ToolTrust;
  /** True if V3 does not ask its client for a token */
  readonly ownsLogin: boolean;
  readonly settings: Settings;
  /** The reason why no session begins; `undefined` if there is a login */
  readonly loggedOut: string | undefined;
};

/** The program's connection, and its sessions by id. */
export type AcpServer = {
  readonly options: AcpOptions;
  readonly client: Client;
  readonly sessions: Map<string, AcpSession>;
};

/** Creates the answers of a harness. */
export type CreateAnswers = (place: AcpServer) => (method: string, params: Params) => Promise<unknown>;

/** Speaks ACP on stdin and stdout until stdin ends. */
export async function serveAcp(createAnswers: CreateAnswers, options: AcpOptions): Promise<void> {
  const sessions = new Map<string, AcpSession>();
  const error = await new Promise<unknown>((end) => {
    const client: Client = serveJsonRpc({
      request: (method, params) => answer(method, params),
      notification: (method, params) => method === "session/cancel" && sessions.get(toId(params))?.cancel(),
      end,
    });
    const answer = createAnswers({ client, options, sessions });
  });
  await Promise.all([...sessions.values()].map(({ servers }) => servers.stop()));
  if (error !== undefined) throw error;
  process.exit(0);
}

/** Enters the folder of a session, or throws why none begins. */
export function enterFolder(params: Params, { options: { loggedOut } }: AcpServer): void {
  if (loggedOut !== undefined) throw toRpcError(-32_000, "Authentication required", loggedOut);
  // The real program ends without a word.
  if (!Array.isArray(params["mcpServers"])) throw toExitError(0, "");
  process.chdir(String(params["cwd"]));
}

type Opening = Pick<AcpSession, "runsHooks" | "save" | "v3"> & {
  readonly agent: KiroAgent;
  readonly conversation: Conversation;
  /** Warnings for stderr */
  readonly warnings: readonly string[];
};

/** Opens a session: starts its agent's servers, and runs its hooks. */
export async function openSession(
  { warnings, ...opening }: Opening,
  { client, options, sessions }: AcpServer,
): Promise<AcpSession> {
  const { model, settings, trust } = options;
  const servers = await startMcpServers(opening.agent, settings);
  for (const line of [...warnings, ...servers.warnings]) await write(process.stderr, `${line}\n`);
  if (opening.runsHooks) await runHooks(opening.agent, "agentSpawn");
  const session = { ...opening, client, model, servers, settings, trust, cancel: () => undefined };
  sessions.set(opening.conversation.id, session);
  return session;
}

/** Sends a stored conversation to the client again. */
export async function replay({ history, id: sessionId }: Conversation, client: Client): Promise<void> {
  const send = (sessionUpdate: string, text: string): Promise<void> =>
    client.notify("session/update", { sessionId, update: { sessionUpdate, content: { type: "text", text } } });
  for (const { answer, prompt } of history) {
    await send("user_message_chunk", prompt);
    await send("agent_message_chunk", answer);
  }
}

/** Returns the session that a request names, or throws. */
export function findSession(params: Params, { sessions }: AcpServer): AcpSession {
  const session = sessions.get(toId(params));
  if (session === undefined) throw toRpcError(-32_603, "Internal error", `Session '${toId(params)}' not found`);
  return session;
}

/** Returns the id of the session that a request names. */
export function toId(params: Params): string {
  return String(params["sessionId"]);
}
