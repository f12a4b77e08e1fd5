import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { createRate, isRecord } from "@budgie/core/bounds";
import { cleanLine } from "./clean-text.ts";
import { pickInitialize } from "./pick-initialize.ts";
import { LIMITS } from "./limits.ts";
import { readMessage, type ServerMessage } from "./read-message.ts";

export type TransportEvents = {
  /** A line for the server's log */
  readonly log: (line: string) => void;
  /** Called when the server reports a changed list: `tools`, `prompts` or `resources` */
  readonly changed: (list: ChangedList) => void;
};

export type ChangedList = "prompts" | "resources" | "tools";

/**
 * Wraps a transport so that the SDK receives only a server's answers, progress and requests, each reduced to the fields that it
 * needs. The SDK's schemas record an issue for every invalid entry of a list, which takes minutes for a list of a million.
 */
export function withBounds(inner: Transport, events: TransportEvents): Transport {
  const progress = createRate(LIMITS.progress);
  const requests = createRate(LIMITS.requests);
  let initializeId: unknown;

  function screen(message: ServerMessage): JSONRPCMessage | undefined {
    if (message.kind === "notification") return hear(message);
    const { id } = message;
    if (message.kind === "request") {
      if (message.method !== "ping") events.log(`It asked for ${cleanLine(message.method, LIMITS.name)}; refused.`);
      return requests.tryTake() ? { jsonrpc: "2.0", id, method: message.method } : undefined;
    }
    if (message.kind === "error") return { jsonrpc: "2.0", id, error: message.error };
    return { jsonrpc: "2.0", id, result: id === initializeId ? pickInitialize(message.result) : message.result };
  }

  function hear({ method, params }: ServerMessage & { kind: "notification" }): JSONRPCMessage | undefined {
    const [, list] = /^notifications\/(prompts|resources|tools)\/list_changed$/.exec(method) ?? [];
    if (list !== undefined) events.changed(list as ChangedList);
    if (method === "notifications/message") events.log(formatLogLine(params));
    if (method !== "notifications/progress" || !progress.tryTake()) return undefined;
    return toProgress(params);
  }

  const outer: Transport = {
    async start() {
      inner.onmessage = (value) => {
        const message = readMessage(value);
        if (message === undefined) return events.log("It sent something that is not a JSON-RPC message; ignored.");
        const seen = screen(message);
        if (seen === undefined) return;
        // The SDK handles progress a few promises later, and drops it if the request has its answer by then.
        if ("method" in seen) outer.onmessage?.(seen);
        else setImmediate(() => outer.onmessage?.(seen));
      };
      inner.onclose = () => void setImmediate(() => outer.onclose?.());
      inner.onerror = (error) => outer.onerror?.(error);
      await inner.start();
    },
    send(message, options) {
      if ("method" in message && message.method === "initialize" && "id" in message) initializeId = message.id;
      return inner.send(message, options);
    },
    close: () => inner.close(),
    setProtocolVersion: (version) => inner.setProtocolVersion?.(version),
  };
  return outer;
}

function formatLogLine({ data, level }: Readonly<Record<string, unknown>>): string {
  const text = typeof data === "string" ? data : isRecord(data) ? data["message"] : "";
  return cleanLine(`${typeof level === "string" ? level.slice(0, 20) : "info"}: ${String(text)}`, LIMITS.logLine);
}

function toProgress({ message, progress, progressToken, total }: Readonly<Record<string, unknown>>) {
  if (typeof progress !== "number" || (typeof progressToken !== "number" && typeof progressToken !== "string")) return;
  return {
    jsonrpc: "2.0" as const,
    method: "notifications/progress",
    params: {
      progress,
      progressToken,
      ...(typeof total === "number" ? { total } : {}),
      ...(typeof message === "string" ? { message: cleanLine(message, LIMITS.error) } : {}),
    },
  };
}
