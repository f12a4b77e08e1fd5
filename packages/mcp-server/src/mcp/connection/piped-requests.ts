import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/sdk/types.js";
import { findCancelledRequest } from "./delivery-tracker.ts";

/**
 * The open requests of a client. If one calls a tool before `initialize` is answered, which MCP forbids, its messages were piped
 * in, and the end of stdin is not its decision to stop.
 */
export type PipedRequests = {
  /** Takes note of a message from the client. */
  readonly received: (message: JSONRPCMessage) => void;
  /** Takes note of a message that was written to the client, or that could not be. */
  readonly written: (message: JSONRPCMessage) => void;
  /** Resolves when piped requests have their answers; at once if the client waited for `initialize`. */
  readonly answered: () => Promise<void>;
};

/** Creates an empty set of requests. */
export function createPipedRequests(): PipedRequests {
  const open = new Set<RequestId>();
  let initialize: RequestId | undefined;
  let isPiped = false;
  const waiting: (() => void)[] = [];

  function close(id: RequestId | undefined): void {
    if (id === undefined) return;
    open.delete(id);
    if (open.size === 0) for (const tell of waiting.splice(0)) tell();
  }

  return {
    received(message) {
      if (!("method" in message)) return;
      close(findCancelledRequest(message));
      isPiped ||= initialize !== undefined && open.has(initialize) && message.method === "tools/call";
      if (!("id" in message)) return;
      open.add(message.id);
      if (message.method === "initialize") initialize = message.id;
    },
    written(message) {
      if (!("method" in message)) close(message.id);
    },
    answered: () => new Promise((resolve) => void (isPiped && open.size > 0 ? waiting.push(resolve) : resolve())),
  };
}
