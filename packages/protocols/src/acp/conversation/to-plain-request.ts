import { methods, type AnyMessage } from "@agentclientprotocol/sdk";

const LONGEST = 1000;
const MOST_OPTIONS = 100;

/**
 * Returns an agent's request with only the parts that an answer needs, each of a bounded size; `undefined` without a valid id and
 * method, since it cannot be answered then.
 */
export function toPlainRequest(message: Readonly<Record<string, unknown>>): AnyMessage | undefined {
  const { id, method, params } = message;
  const isId = typeof id === "number" || (typeof id === "string" && id.length <= LONGEST);
  if (!isId || typeof method !== "string" || method.length > LONGEST) return undefined;
  const plain = method === methods.client.session.requestPermission ? toPlainPermission(toRecord(params)) : {};
  return { jsonrpc: "2.0", id, method, params: plain };
}

/** Returns the needed parts of a request for permission. Its session does not matter: an agent's own sub-agents ask under other ids. */
function toPlainPermission({ options, toolCall }: Readonly<Record<string, unknown>>) {
  const given: readonly unknown[] = Array.isArray(options) ? options : [];
  const { title, toolCallId } = toRecord(toolCall);
  return {
    sessionId: "any",
    options: given.slice(0, MOST_OPTIONS).map(toRecord).flatMap(toPlainOption),
    toolCall: { toolCallId: parseText(toolCallId) ?? "a tool", title: parseText(title) },
  };
}

function toPlainOption({ kind, optionId }: Readonly<Record<string, unknown>>) {
  const isPlain = typeof optionId === "string" && typeof kind === "string";
  return isPlain && optionId.length <= LONGEST && KINDS.includes(kind) ? [{ optionId, kind, name: "" }] : [];
}

const KINDS: readonly string[] = ["allow_once", "allow_always", "reject_once", "reject_always"];

function toRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function parseText(value: unknown): string | undefined {
  return typeof value === "string" ? value.slice(0, LONGEST) : undefined;
}
