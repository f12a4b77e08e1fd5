import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Host } from "../../process/host.ts";
import { createDeliveryTracker, toCancelledRequest } from "./delivery-tracker.ts";
import type { ClientTransport } from "./client-transport.ts";

/** Creates the transport over stdin and stdout. It reads nothing before it is started. */
export function createStdioTransport({ stdin, stdout }: Pick<Host, "stdin" | "stdout">): ClientTransport {
  const deliveries = createDeliveryTracker();
  const transport = new StdioServerTransport(stdin, stdout);

  // The SDK calls this handler before its own.
  transport.onmessage = (message) => {
    const cancelled = toCancelledRequest(message);
    if (cancelled !== undefined) deliveries.drop(cancelled);
  };
  // The SDK's `send` resolves as soon as the message is buffered.
  transport.send = (message) =>
    new Promise((resolve) => {
      const answer = "result" in message ? deliveries.find(message.id) : undefined;
      stdout.write(serializeMessage(message), (error) => {
        // The `error` listener of stdout handles a disconnected client.
        if (!error) answer?.delivered();
        resolve();
      });
    });

  return Object.assign(transport, {
    isFull: () => stdout.writableNeedDrain,
    follow: (...asked: Parameters<ClientTransport["follow"]>) => void deliveries.follow(...asked),
  });
}
