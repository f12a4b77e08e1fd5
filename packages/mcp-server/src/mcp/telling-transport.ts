import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { Host } from "../host.ts";

/** A transport over stdin and stdout that tells when the answer to a request has left. */
export type TellingTransport = Transport & {
  /** Calls this when the response to that request was written, all of it; never if it was not */
  readonly onceSent: (request: RequestId, call: () => void) => void;
};

/** Creates the transport; nothing is read before it is started. */
export function createTellingTransport({ stdin, stdout }: Pick<Host, "stdin" | "stdout">): TellingTransport {
  const waiting = new Map<RequestId, () => void>();
  const transport = new StdioServerTransport(stdin, stdout);
  // The transport's own resolves as soon as the message waits in memory.
  transport.send = (message) =>
    new Promise((resolve) => {
      const tell = take(message);
      stdout.write(serializeMessage(message), (error) => {
        // Who listens to stdout hears of a client that is gone.
        if (!error) tell?.();
        resolve();
      });
    });

  function take(message: JSONRPCMessage): (() => void) | undefined {
    if ("method" in message || message.id === undefined) return undefined;
    const tell = waiting.get(message.id);
    waiting.delete(message.id);
    return tell;
  }

  return Object.assign(transport, {
    onceSent: (request: RequestId, call: () => void) => void waiting.set(request, call),
  });
}
