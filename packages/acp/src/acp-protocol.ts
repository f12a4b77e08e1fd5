import { methods } from "@agentclientprotocol/sdk";
import { z } from "zod";
import {
  BudgieError,
  toExitFailure,
  type Agent,
  type Exit,
  type ExitContext,
  type Protocol,
  type ProtocolAnswer,
  type ProtocolTurn,
} from "@budgie/core";
import type { AcpProgram } from "./acp-program.ts";
import { createActivityThrottle } from "./answer/activity-throttle.ts";
import { createAnswer, type Answer } from "./answer/answer.ts";
import { connectAgent, EndedError, NO_EXIT, type Connection } from "./connection.ts";
import { openConversation } from "./conversation.ts";
import { loadConversationId, saveConversationId } from "./conversation-id.ts";
import { toFailure } from "./failure.ts";
import { firstOf, within } from "./first-of.ts";
import { createPermissions, type Permissions } from "./permissions.ts";

export type AcpOptions = {
  /** Returns the program of an agent for a turn in a directory */
  readonly toProgram: (agent: Agent, directory: string) => AcpProgram;
  /** The limit of each request before the prompt; default 60 s */
  readonly startTimeoutMs?: number | undefined;
  /** The time that an agent gets to end a cancelled turn; default 5 s */
  readonly cancelTimeoutMs?: number | undefined;
};

const START_TIMEOUT_MS = 60_000;
const CANCEL_TIMEOUT_MS = 5000;

/** Creates the protocol of agents that speak ACP: a process for each turn, in the conversation of the session. */
export function createAcpProtocol(options: AcpOptions): Protocol {
  return async (turn) => {
    const deadline = performance.now() + turn.timeoutMs;
    const program = options.toProgram(turn.agent, turn.directory);
    const { directory, onOutput, session } = turn;
    // Once the agent works, it is asked to end its turn before it is stopped.
    const start = followUntil(turn.signal);
    const child = await session.start(program.command, { directory, signal: start.signal });
    const permissions = createPermissions(program.permission);
    const connection = connectAgent(child, { permissions, onOutput });
    try {
      const limitMs = (): number =>
        Math.max(Math.min(options.startTimeoutMs ?? START_TIMEOUT_MS, deadline - performance.now()), 1);
      const saved = turn.resume ? await loadConversationId(session) : undefined;
      const agent = turn.agent.name;
      const cwd = session.paths(directory).workspace;
      const conversation = await openConversation(connection, { agent, program, cwd, id: saved, limitMs });
      start.end();
      const cancelTimeoutMs = options.cancelTimeoutMs ?? CANCEL_TIMEOUT_MS;
      // Many programs keep nothing of a conversation before the end of its first turn.
      const onEnd = async (): Promise<void> => {
        if (conversation.id !== saved) await saveConversationId(session, conversation.id);
      };
      const working = {
        turn,
        connection,
        permissions,
        conversation: conversation.id,
        deadline,
        cancelTimeoutMs,
        onEnd,
      };
      const { answer, stopReason, usage } = await ask(working);
      const exit = withoutOwnStop(await connection.end());
      const forgotten = turn.resume && saved === undefined ? [FORGOTTEN] : [];
      const warnings = [...forgotten, ...conversation.warnings, ...toWarnings(stopReason, answer, exit)];
      const denied = permissions.takeDenied();
      const failure = toExitFailure(exit, toContext(turn, program));
      if (failure !== undefined) throw failure;
      return toProtocolAnswer({ turn, answer, stopReason, usage, exit, denied, warnings });
    } catch (error) {
      await connection.stop("shutdown");
      throw toFailure(error, toContext(turn, program));
    } finally {
      start.end();
    }
  };
}

const FORGOTTEN = "The session has no conversation to resume, so the agent began a new one.";

/** Returns the exit of an agent that has answered; nothing is known of one that budgie had to stop then. */
function withoutOwnStop(exit: Exit): Exit {
  return exit.reason === "shutdown" ? { ...exit, signal: undefined, reason: undefined } : exit;
}

type Working = {
  readonly turn: ProtocolTurn;
  readonly connection: Connection;
  readonly permissions: Permissions;
  /** Its id */
  readonly conversation: string;
  /** By `performance.now()` */
  readonly deadline: number;
  readonly cancelTimeoutMs: number;
  /** Called when the agent has ended its turn, also one that was cancelled */
  readonly onEnd: () => Promise<void>;
};

type Answered = Pick<ProtocolAnswer, "usage"> & { readonly answer: Answer; readonly stopReason: string };

/** Sends the prompt, and resolves when the agent ends its turn. A turn that is cancelled or too long is cancelled in the agent first. */
async function ask(working: Working): Promise<Answered> {
  const { cancelTimeoutMs, connection, conversation: sessionId, deadline, onEnd, permissions, turn } = working;
  if (performance.now() >= deadline) throw new EndedError({ ...NO_EXIT, reason: "timeout" }, "");
  const throttle = createActivityThrottle(turn.onActivity);
  const answer = createAnswer({
    sessionId,
    onText: (text) => turn.onOutput?.(Buffer.from(text), "stdout"),
    onActivity: throttle.add,
  });
  connection.onUpdate(answer.add);
  // NUL means nothing to a model.
  const prompt = [{ type: "text", text: turn.prompt.replaceAll("\0", "") }];
  try {
    const expected = { answer: z.object({ stopReason: z.string(), usage: z.unknown().optional() }) };
    const response = connection.request(methods.agent.session.prompt, { sessionId, prompt }, expected);
    // A turn that ends early does not wait for it.
    const ended = response.then(onEnd);
    ended.catch(() => undefined);
    const ending = await firstOf(ended, turn.signal, deadline - performance.now());
    if (ending === undefined) {
      await ended;
      const { stopReason, usage } = await response;
      return { answer, stopReason, usage: answer.toUsage(usage) };
    }
    permissions.cancel();
    connection.notify(methods.agent.session.cancel, { sessionId });
    await within(ended, cancelTimeoutMs);
    const exit = await connection.stop(ending);
    throw new EndedError({ ...exit, reason: ending }, "");
  } finally {
    connection.onUpdate(undefined);
    throttle.end();
  }
}

function toContext({ agent, timeoutMs }: ProtocolTurn, { command }: AcpProgram): ExitContext {
  return { agent: agent.name, program: command.argv[0], timeoutMs };
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

const LIMITED: Readonly<Record<string, string>> = { max_tokens: "tokens", max_turn_requests: "requests to its model" };

function toWarnings(stopReason: string, answer: Answer, { oomKilled }: Exit): readonly string[] {
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

/** Returns the answer. Throws `AGENT_FAILED` for one that the model refused, and for none. */
function toProtocolAnswer({ answer, denied, exit, stopReason, turn, usage, warnings }: Ended): ProtocolAnswer {
  const response = answer.text().trim();
  const { name } = turn.agent;
  if (stopReason === "refusal") {
    const message = `The model of the agent "${name}" refused the prompt. Ask for something else.`;
    throw new BudgieError("AGENT_FAILED", message, { report: { response: response === "" ? undefined : response } });
  }
  if (response !== "") return { response, file: undefined, exit, denied, usage, warnings };
  const tools = denied.length === 0 ? "" : ` It was refused these tools: ${denied.join(", ")}.`;
  throw new BudgieError(
    "AGENT_FAILED",
    `The agent "${name}" finished its turn and said nothing.${tools} Ask it again.`,
  );
}
