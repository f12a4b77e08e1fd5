import { methods } from "@agentclientprotocol/sdk";
import { z } from "zod";
import type { ProtocolTurn } from "@budgie/core/protocol";
import { createActivityThrottle } from "./answer/activity-throttle.ts";
import { createAnswer, type Answer } from "./answer/answer.ts";
import type { AcpProgram } from "./conversation/acp-program.ts";
import { watchMode } from "./conversation/set-asking-mode.ts";
import { EndedError, NO_EXIT, type Connection } from "./conversation/connection.ts";
import type { Conversation } from "./conversation/open-conversation.ts";
import { saveConversation } from "./conversation/save-conversation.ts";
import { firstOf, endsWithin } from "./conversation/first-of.ts";
import { refuseRefused } from "./conversation/kiro-conversation.ts";
import type { Permissions } from "./conversation/permissions.ts";
import { isV3, promptMeta } from "./kiro/conversation-meta.ts";

/** A conversation of a running agent. */
export type OpenedConversation = {
  readonly conversation: Conversation;
  /** True if its id is in the session's home */
  readonly isSaved: boolean;
  /** The warnings of this turn alone */
  readonly notices: readonly string[];
};

/** A turn whose conversation is open. */
export type Working = {
  readonly turn: ProtocolTurn;
  readonly program: AcpProgram;
  readonly connection: Connection;
  readonly permissions: Permissions;
  readonly opened: OpenedConversation;
  /** By `performance.now()` */
  readonly deadline: number;
  readonly cancelTimeoutMs: number;
};

/** The answer to a prompt, and the reason why the turn ended. */
export type Answered = { readonly answer: Answer; readonly stopReason: string };

const promptAnswer = z.object({
  stopReason: z.string(),
  usage: z.unknown().optional(),
  _meta: z.unknown().optional(),
});

/** Sends the prompt, and resolves when the agent ends its turn. Asks the agent to cancel a turn before stopping it. */
export async function sendPrompt(working: Working): Promise<Answered> {
  const { cancelTimeoutMs, connection, deadline, opened, permissions, program, turn } = working;
  const sessionId = opened.conversation.id;
  // Not before the turn ends, since many programs keep nothing of a conversation until then; but also after a cancelled one.
  const onEnd = async (): Promise<void> => {
    if (!opened.isSaved) await saveConversation(turn.session, opened.conversation);
  };
  if (performance.now() >= deadline) throw new EndedError({ ...NO_EXIT, reason: "timeout" }, "");
  if (turn.signal?.aborted === true) throw new EndedError({ ...NO_EXIT, reason: "cancelled" }, "");
  const throttle = createActivityThrottle((activity) => turn.events.emit("activity", activity));
  const answer = createAnswer({
    sessionId,
    events: turn.events,
    onActivity: throttle.add,
    program: opened.conversation.program,
    model: program.model,
    basis: program.tokenBasis,
  });
  const mode = watchMode({ agent: turn.agent.name, permission: program.permission, signal: turn.signal });
  connection.onUpdate(mode.follow(answer.add));
  // NUL means nothing to a model.
  const content = [{ type: "text", text: turn.prompt.replaceAll("\0", "") }];
  try {
    const expected = { answer: promptAnswer };
    const params = { sessionId, prompt: content, ...promptMeta(program.kiro) };
    const response = connection.request(methods.agent.session.prompt, params, expected);
    // Marks a rejection as handled, since a turn that ends early does not await it.
    const ended = response.then(async (given) => {
      answer.end(given);
      await onEnd();
    });
    ended.catch(() => undefined);
    const ending = await firstOf(ended, createEarlyEnd(working, mode.signal), deadline - performance.now());
    if (isV3(program) && ending !== "timeout") refuseRefused(connection, turn.agent.name);
    if (ending === undefined) {
      await ended.then(mode.check);
      const { stopReason } = await response;
      return { answer, stopReason };
    }
    permissions.cancel();
    connection.notify(methods.agent.session.cancel, { sessionId });
    await endsWithin(ended, cancelTimeoutMs);
    const exit = await connection.stop(ending);
    mode.check();
    throw new EndedError({ ...exit, reason: ending }, "");
  } finally {
    connection.onUpdate(undefined);
    throttle.end();
  }
}

/** Returns the signal that ends a turn: its own, or that Kiro's V3 harness did not take its agent after all. */
function createEarlyEnd(
  { connection, program }: Pick<Working, "connection" | "program">,
  own: AbortSignal,
): AbortSignal {
  return isV3(program) ? AbortSignal.any([own, connection.refused]) : own;
}
