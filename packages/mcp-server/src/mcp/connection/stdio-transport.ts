import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Host } from "../../process/host.ts";
import { createDeliveryTracker, toCancelledRequest } from "./delivery-tracker.ts";
import type { ClientTransport } from "./client-transport.ts";
import { createPipedRequests, type PipedRequests } from "./piped-requests.ts";

/** A transport that knows when piped requests have their answers. */
export type StdioTransport = ClientTransport & Pick<PipedRequests, "answered">;

// No network delays a cancellation here. opencode cancels every request 200 to 450 ms after its result.
const CROSSING_MS = 50;

/** Creates the transport over stdin and stdout. It reads nothing before it is started. */
export function createStdioTransport({ stdin, stdout }: Pick<Host, "stdin" | "stdout">): StdioTransport {
  const deliveries = createDeliveryTracker({ crossingMs: CROSSING_MS });
  const requests = createPipedRequests();
  const transport = new StdioServerTransport(stdin, stdout);

  // The SDK calls this handler before its own.
  transport.onmessage = (message) => {
    requests.received(message);
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
        requests.written(message);
        resolve();
      });
    });

  return Object.assign(transport, {
    answered: requests.answered,
    isFull: () => stdout.writableNeedDrain,
    follow: (...asked: Parameters<ClientTransport["follow"]>) => void deliveries.follow(...asked),
  });
}
