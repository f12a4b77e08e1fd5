import { JSONRPCMessageSchema, type JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { createLineReader, parseRequest } from "@budgie/core/bounds";
import type { Host } from "../../process/host.ts";
import { createDeliveryTracker, findCancelledRequest } from "./delivery-tracker.ts";
import type { ClientTransport } from "./client-transport.ts";
import { createPipedRequests, type PipedRequests } from "./piped-requests.ts";

/** A transport that knows when piped requests have their answers. */
export type StdioTransport = ClientTransport & Pick<PipedRequests, "answered">;

const LARGEST_MESSAGE_BYTES = 10 * 1024 ** 2;
// No network delays a cancellation here. opencode cancels every request 200 to 450 ms after its result.
const CROSSING_MS = 50;

/**
 * Creates the transport over stdin and stdout. It reads nothing before it is started. The SDK's own parses each message whole, before
 * anything bounds it.
 */
export function createStdioTransport({ stdin, stdout }: Pick<Host, "stdin" | "stdout">): StdioTransport {
  const deliveries = createDeliveryTracker({ crossingMs: CROSSING_MS });
  const requests = createPipedRequests();

  function receive(message: JSONRPCMessage): void {
    requests.received(message);
    const cancelled = findCancelledRequest(message);
    if (cancelled !== undefined) deliveries.drop(cancelled);
    transport.onmessage?.(message);
  }

  const read = createLineReader({
    maxBytes: LARGEST_MESSAGE_BYTES,
    onLine(line) {
      try {
        receive(parseMessage(line));
      } catch (error) {
        transport.onerror?.(error as Error);
      }
    },
    onTooLong() {
      transport.onerror?.(new Error(`a message of more than ${LARGEST_MESSAGE_BYTES} bytes ends the connection`));
      void transport.close();
    },
  });
  const onData = (chunk: Buffer): void => void read(chunk);
  const onError = (error: Error): void => transport.onerror?.(error);

  const transport: StdioTransport = {
    async start() {
      stdin.on("data", onData).on("error", onError);
    },
    send: (message) =>
      new Promise((resolve) => {
        const answer = "result" in message ? deliveries.find(message.id) : undefined;
        stdout.write(`${JSON.stringify(message)}\n`, (error) => {
          // The `error` listener of stdout handles a disconnected client.
          if (!error) answer?.delivered();
          requests.written(message);
          resolve();
        });
      }),
    async close() {
      stdin.off("data", onData).off("error", onError);
      // Without another reader, it would keep the process alive.
      if (stdin.listenerCount("data") === 0) stdin.pause();
      transport.onclose?.();
    },
    answered: requests.answered,
    isFull: () => stdout.writableNeedDrain,
    follow: (...asked: Parameters<ClientTransport["follow"]>) => void deliveries.follow(...asked),
  };
  return transport;
}

function parseMessage(line: Buffer): JSONRPCMessage {
  try {
    return JSONRPCMessageSchema.parse(parseRequest(line).value);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Error(`a message of ${error.message} is ignored`, { cause: error });
  }
}
