import { BudgieError, type AgentProcess, type Exit } from "@budgie/core";
import {
  findExitFailure,
  type ExitContext,
  type Protocol,
  type ProtocolAnswer,
  type ProtocolTurn,
} from "@budgie/core/protocol";
import type { AcpProgram } from "./conversation/acp-program.ts";
import type { Answer } from "./answer/answer.ts";
import { connectAgent, NO_EXIT, type Connection } from "./conversation/connection.ts";
import { openConversation, type OpenOptions } from "./conversation/open-conversation.ts";
import { setMode } from "./conversation/set-mode.ts";
import { loadConversation } from "./conversation/save-conversation.ts";
import { toFailure } from "./to-failure.ts";
import { isV3 } from "./kiro/conversation-meta.ts";
import { sendPrompt, type Answered, type OpenedConversation, type Working } from "./send-prompt.ts";
import { createPermissions } from "./conversation/permissions.ts";

export type AcpOptions = {
  /** Returns the program of a turn's agent */
  readonly toProgram: (turn: ProtocolTurn) => AcpProgram | Promise<AcpProgram>;
  /** The timeout of each request before the prompt; default 60 s */
  readonly startTimeoutMs?: number | undefined;
  /** The time that an agent gets to end a cancelled turn; default 5 s */
  readonly cancelTimeoutMs?: number | undefined;
};

const START_TIMEOUT_MS = 60_000;
const CANCEL_TIMEOUT_MS = 5000;

/**
 * Creates the protocol of agents that speak ACP. Each turn continues the session's conversation, in a new process or in the one that the
 * last successful turn left running.
 */
export function createAcpProtocol(options: AcpOptions): Protocol {
  const warmAgents = new WeakMap<AgentProcess, WarmAgent>();
  return async (turn) => {
    const deadline = performance.now() + turn.timeoutMs;
    const program = await options.toProgram(turn);
    // It stops the process only during the start: an agent at work is first asked to end its turn.
    const start = followUntil(turn.signal);
    const limitMs = (): number =>
      Math.max(Math.min(options.startTimeoutMs ?? START_TIMEOUT_MS, deadline - performance.now()), 1);
    const child = await startAgent(turn, { program, signal: start.signal, warmAgents, limitMs });
    const last = warmAgents.get(child);
    const connection = last?.connection ?? connectAgent(child);
    const permissions = createPermissions(program.permission);
    connection.begin({ permissions, events: turn.events });
    try {
      const opened = last?.open ?? (await open(turn, { connection, program, limitMs }));
      start.end();
      const cancelTimeoutMs = options.cancelTimeoutMs ?? CANCEL_TIMEOUT_MS;
      const mayRest = child.standBy !== undefined;
      const answer = await ask({ turn, program, connection, permissions, opened, deadline, cancelTimeoutMs, mayRest });
      if (answer.exit !== NO_EXIT) return answer;
      const rested = { ...opened, isSaved: true, notices: [] };
      warmAgents.set(child, { connection, open: rested });
      return { ...answer, kept: child };
    } catch (error) {
      await connection.stop("shutdown");
      throw toFailure(error, { ...contextOf(turn, program), deadline });
    } finally {
      start.end();
    }
  };
}

/** An agent between two turns. */
type WarmAgent = {
  readonly connection: Connection;
  readonly open: OpenedConversation;
};

type AgentStart = Pick<OpenOptions, "limitMs"> & {
  readonly program: AcpProgram;
  readonly signal: AbortSignal;
  readonly warmAgents: WeakMap<AgentProcess, WarmAgent>;
};

/** Starts an agent, or reuses the one that the session's last turn left running. */
async function startAgent(turn: ProtocolTurn, start: AgentStart): Promise<AgentProcess> {
  const { program, signal, warmAgents } = start;
  // The conversation of a process keeps its MCP servers, and V3 its agent and its model.
  const standbyKey = [listServers(turn), program.kiro, program.model];
  for (;;) {
    const child = await turn.session.start(program.command, { directory: turn.directory, signal, standbyKey });
    const last = warmAgents.get(child);
    if (last === undefined || (await isReady(last, start))) return child;
    // Waits for its exit, which is known later than the end of its output.
    await last.connection.stop("shutdown");
  }
}

/** Resolves to true if the agent still runs, and has the requested mode. */
async function isReady(
  { connection, open }: WarmAgent,
  { limitMs, program }: Pick<AgentStart, "limitMs" | "program">,
): Promise<boolean> {
  if (!connection.isOpen() || connection.refused.aborted) return false;
  const { mode } = program;
  if (mode === undefined || isV3(program)) return true;
  return setMode(connection, { id: open.conversation.id, mode, limitMs }).catch(() => false);
}

/** Returns the MCP servers for the agent. */
function listServers({ offered }: ProtocolTurn): OpenOptions["servers"] {
  return offered?.servers ?? [];
}

type Opening = Pick<OpenOptions, "limitMs"> & { readonly connection: Connection; readonly program: AcpProgram };

/** Begins the session's conversation, or resumes it. */
async function open(turn: ProtocolTurn, opening: Opening): Promise<OpenedConversation> {
  const { agent, directory, resume, session } = turn;
  const { begunMs, id } = (resume ? await loadConversation(session) : undefined) ?? {};
  const cwd = session.paths(directory).workspace;
  const place = { agent: agent.name, cwd, id, begunMs, servers: listServers(turn) };
  const conversation = await openConversation(opening.connection, { ...opening, ...place });
  return { conversation, isSaved: conversation.id === id, notices: resume && id === undefined ? [FORGOTTEN] : [] };
}

const FORGOTTEN = "The session has no conversation to resume, so the agent began a new one.";

/** Returns the exit of an agent that has answered, without the signal and the reason if budgie had to stop it. */
function withoutOwnStop(exit: Exit): Exit {
  return exit.reason === "shutdown" ? { ...exit, signal: undefined, reason: undefined } : exit;
}

/** Prompts the agent, then keeps it for the next turn if it may stay, and ends it otherwise. */
async function ask({ mayRest, ...working }: Working & { readonly mayRest: boolean }): Promise<ProtocolAnswer> {
  const { connection, opened, permissions, program, turn } = working;
  if (!opened.conversation.takesServers && listServers(turn).length > 0) turn.offered?.onRefused();
  const answered = await sendPrompt(working);
  const { answer, stopReason } = answered;
  const exit = mayRest && stopReason === "end_turn" ? connection.rest() : withoutOwnStop(await connection.end());
  const ownWarnings = [...opened.notices, ...opened.conversation.warnings];
  const warnings = [...ownWarnings, ...listWarnings(stopReason, answer, exit)];
  const denied = permissions.takeDenied();
  const failure = findExitFailure(exit, contextOf(turn, program));
  if (failure !== undefined) throw failure;
  return buildAnswer({ ...answered, turn, exit, denied, warnings });
}

function contextOf({ agent, timeoutMs }: ProtocolTurn, { command }: AcpProgram): ExitContext {
  return { agent: agent.name, program: command.argv[0], timeoutMs };
}

const LIMITED: Readonly<Record<string, string>> = { max_tokens: "tokens", max_turn_requests: "requests to its model" };

function listWarnings(stopReason: string, answer: Answer, { oomKilled }: Exit): readonly string[] {
  const limit = LIMITED[stopReason];
  const isKnown = limit !== undefined || ["cancelled", "end_turn", "refusal"].includes(stopReason);
  return [
    ...(limit === undefined ? [] : [`The agent reached its limit of ${limit}; its answer may be incomplete.`]),
    ...(stopReason === "cancelled" ? ["The agent ended its turn early, as it does when a tool is denied."] : []),
    ...(isKnown
      ? []
      : [`The agent ended its turn for an unknown reason, ${JSON.stringify(stopReason.slice(0, 100))}.`]),
    ...(answer.isTruncated() ? ["The answer was too long, and its end was discarded."] : []),
    ...(oomKilled ? ["A process of the agent was killed for memory; the answer may be incomplete."] : []),
  ];
}

type Ended = Answered & Pick<ProtocolAnswer, "denied" | "exit" | "warnings"> & { readonly turn: ProtocolTurn };

/** Returns the answer. Throws `AGENT_FAILED` if the model refused the prompt, or the answer is empty. */
function buildAnswer({ answer, denied, exit, stopReason, turn, warnings }: Ended): ProtocolAnswer {
  const response = answer.text().trim();
  const { name } = turn.agent;
  if (stopReason === "refusal") {
    const message = `The model of the agent "${name}" refused the prompt. Ask for something else.`;
    throw new BudgieError("AGENT_FAILED", message, { report: { response: response === "" ? undefined : response } });
  }
  if (response !== "") return { response, file: undefined, exit, denied, warnings };
  const tools = denied.length === 0 ? "" : ` It was refused these tools: ${denied.join(", ")}.`;
  throw new BudgieError(
    "AGENT_FAILED",
    `The agent "${name}" finished its turn and said nothing.${tools} Ask it again.`,
  );
}

type Following = { readonly signal: AbortSignal; readonly end: () => void };

/** Creates a signal that follows another one until `end` is called. */
function followUntil(signal: AbortSignal | undefined): Following {
  const own = new AbortController();
  const abort = (): void => own.abort();
  if (signal?.aborted === true) abort();
  signal?.addEventListener("abort", abort, { once: true });
  return { signal: own.signal, end: () => signal?.removeEventListener("abort", abort) };
}
