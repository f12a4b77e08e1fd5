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
  /** Called after each update of the task */
  readonly onUpdate: () => Promise<void>;
  readonly signal: AbortSignal;
  /** The time for which polling tolerates a lost server */
  readonly lostTimeoutMs: number;
};

const FIRST_POLL_MS = 200;
const LONGEST_POLL_MS = 5000;
const METHOD_NOT_FOUND = -32_601;

/** Sends a prompt, and follows its task by stream, else by polling, until the task ends or waits for the caller. */
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
  let isFirst = true;
  try {
    for await (const reply of client.ask(methods.stream, toMessage({ ...message, isImmediate: false }), signal)) {
      // After any other error, or an update, the agent may have begun, and must not get the prompt twice.
      if (isFirst && lacksMethod(reply)) return false;
      await take(reply, parts);
      // The stream of a continued task begins with its old state, in which it waits for the caller.
      const isOld = isFirst && message.task !== undefined;
      if (answer.isOver() && !isOld) return true;
      isFirst = false;
    }
  } catch (error) {
    // The task continues without the connection.
    if (!isLost(error, LOST) || answer.task() === undefined) throw error;
  }
  return true;
}

function lacksMethod(reply: RpcReply): boolean {
  return "error" in reply && reply.error.code === METHOD_NOT_FOUND;
}

const LOST = ["AGENT_CRASHED"];
const LOST_OR_AWAY = ["AGENT_CRASHED", "RUNNER_UNAVAILABLE"];

function isLost(error: unknown, codes: readonly string[]): boolean {
  return error instanceof BudgieError && codes.includes(error.code);
}

async function ask(parts: Exchange): Promise<void> {
  const { client, message, signal } = parts;
  const { methods, toMessage } = client.wire;
  // An immediate answer would show a continued task as still waiting for the caller.
  const isImmediate = message.task === undefined;
  await take(await client.askOnce(methods.send, toMessage({ ...message, isImmediate }), signal), parts);
}

async function poll(parts: Exchange): Promise<void> {
  const { answer, client, lostTimeoutMs, signal } = parts;
  const { methods } = client.wire;
  let delayMs = FIRST_POLL_MS;
  let lostSinceMs: number | undefined;
  // A restart of the server, or a gap in the network, does not end a task.
  const tolerate = (error: unknown): undefined => {
    lostSinceMs ??= performance.now();
    if (!isLost(error, LOST_OR_AWAY) || performance.now() - lostSinceMs >= lostTimeoutMs) throw error;
  };
  while (!answer.isOver()) {
    await sleep(delayMs, undefined, { signal });
    delayMs = Math.min(2 * delayMs, LONGEST_POLL_MS);
    const reply = await client.askOnce(methods.get, { id: answer.task(), ...HISTORY }, signal).catch(tolerate);
    if (reply === undefined) continue;
    lostSinceMs = undefined;
    await take(reply, parts);
    if (["unknown", "unspecified"].includes(answer.state() ?? "unknown")) return;
  }
}

async function take(reply: RpcReply, { answer, onUpdate, who }: Exchange): Promise<void> {
  if ("error" in reply) throw refusedError(reply.error, who);
  answer.add(toUpdate(reply.result));
  await onUpdate();
}

function refusedError({ code, message }: RpcError, who: string): BudgieError {
  const end = code === undefined ? "" : `, ${code}`;
  return new BudgieError("AGENT_FAILED", `The server of ${who} refused the call (${message}${end}).`);
}

function silent(who: string): BudgieError {
  return new BudgieError(
    "AGENT_CRASHED",
    `The server of ${who} closed the connection before it answered. Ask it again.`,
  );
}
