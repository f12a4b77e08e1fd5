import { setTimeout as sleep } from "node:timers/promises";
import { BudgieError } from "@budgie/core";
import type { Answer } from "./answer.ts";
import type { Client, RpcError, RpcReply } from "../wire/client.ts";
import { HISTORY, toUpdate, type OwnMessage } from "../wire/wire.ts";

export type Exchange = {
  readonly who: string;
  readonly client: Client;
  readonly isStreaming: boolean;
  readonly message: Omit<OwnMessage, "isImmediate">;
  readonly answer: Answer;
  /** Called after all news of the task */
  readonly onUpdate: () => Promise<void>;
  readonly signal: AbortSignal;
};

const FIRST_POLL_MS = 200;
const LONGEST_POLL_MS = 5000;
const METHOD_NOT_FOUND = -32_601;

/** Sends a prompt, and follows its task until it ends or waits for the caller: by the stream, and where there is none, by asking. */
export async function exchange(parts: Exchange): Promise<void> {
  const { answer, isStreaming, who } = parts;
  const isHeard = isStreaming && (await stream(parts));
  if (!isHeard) await ask(parts);
  if (!answer.isOver() && answer.task() === undefined) throw silent(who);
  await poll(parts);
}

/** Follows the stream to its end. Resolves to false if the server has none. */
async function stream(parts: Exchange): Promise<boolean> {
  const { answer, client, message, signal } = parts;
  const { methods, toMessage } = client.wire;
  // The news of a task that is continued begin with the task as it was, which waits for the caller.
  let isOld = message.task !== undefined;
  try {
    for await (const reply of client.ask(methods.stream, toMessage({ ...message, isImmediate: false }), signal)) {
      // After any other error the agent may have begun, and must not get the prompt twice.
      if ("error" in reply && reply.error.code === METHOD_NOT_FOUND) return false;
      await take(reply, parts);
      if (answer.isOver() && !isOld) return true;
      isOld = false;
    }
  } catch (error) {
    // The task goes on without the connection.
    if (!isLost(error) || answer.task() === undefined) throw error;
  }
  return true;
}

function isLost(error: unknown): boolean {
  return error instanceof BudgieError && error.code === "AGENT_CRASHED";
}

async function ask(parts: Exchange): Promise<void> {
  const { client, message, signal } = parts;
  const { methods, toMessage } = client.wire;
  // At once, a task that is continued would still wait for the caller.
  const isImmediate = message.task === undefined;
  await take(await client.askOnce(methods.send, toMessage({ ...message, isImmediate }), signal), parts);
}

async function poll(parts: Exchange): Promise<void> {
  const { answer, client, signal } = parts;
  let delayMs = FIRST_POLL_MS;
  while (!answer.isOver()) {
    await sleep(delayMs, undefined, { signal });
    delayMs = Math.min(2 * delayMs, LONGEST_POLL_MS);
    await take(await client.askOnce(client.wire.methods.get, { id: answer.task(), ...HISTORY }, signal), parts);
    if (["unknown", "unspecified"].includes(answer.state() ?? "unknown")) return;
  }
}

async function take(reply: RpcReply, { answer, onUpdate, who }: Exchange): Promise<void> {
  if ("error" in reply) throw toRefused(reply.error, who);
  answer.add(toUpdate(reply.result));
  await onUpdate();
}

function toRefused({ code, message }: RpcError, who: string): BudgieError {
  const end = code === undefined ? "" : `, ${code}`;
  return new BudgieError("AGENT_FAILED", `The server of ${who} refused the call (${message}${end}).`);
}

function silent(who: string): BudgieError {
  return new BudgieError("AGENT_CRASHED", `The server of ${who} ended its answer before there was one. Ask it again.`);
}
