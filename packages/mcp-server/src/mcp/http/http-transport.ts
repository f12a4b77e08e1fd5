import type { IncomingMessage, ServerResponse } from "node:http";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { TransportSendOptions } from "@modelcontextprotocol/sdk/shared/transport.js";
import { isJSONRPCRequest, type JSONRPCMessage, type RequestId } from "@modelcontextprotocol/sdk/types.js";
import { createDeliveryTracker, findCancelledRequest } from "../connection/delivery-tracker.ts";
import type { ClientTransport } from "../connection/client-transport.ts";
import { createEventStore, type StoredStream } from "./event-store.ts";
import { createPendingRequests, type RequestBatch } from "./pending-requests.ts";
import type { HttpLimits } from "./http-limits.ts";
import { refuse } from "./send-json.ts";
import { writeEvents } from "./write-events.ts";

/** One HTTP request of a session, with its body read. */
export type HttpRequest = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The parsed JSON of a POST */
  readonly body?: unknown;
  /** Called when no answer to the body waits any more */
  readonly release?: () => void;
};

/** The transport to the one client of a session, over many connections. */
export type HttpTransport = ClientTransport & {
  /** `true` if the client has initialized the session */
  readonly isInitialized: () => boolean;
  /** Resolves when the response has ended. */
  readonly handle: (asked: HttpRequest) => Promise<void>;
  /** `true` if a connection is open or a request is pending */
  readonly isBusy: () => boolean;
  /** `true` if the client has a stream open for messages that belong to no request */
  readonly isListening: () => boolean;
};

export type HttpTransportOptions = {
  readonly sessionId: string;
  readonly limits: HttpLimits;
  /** Called whenever `isBusy` may have changed */
  readonly onActivity: () => void;
  /** Called when the client has opened the stream for messages that belong to no request */
  readonly onListening: () => void;
};

// The SSE `retry` time: clients reconnect after it.
const RETRY_MS = 1000;
// A cancellation comes in a request of its own, over a network.
const CROSSING_MS = 5_000;

/** Creates the transport of a session. A server must be connected to it before it handles requests. */
export function createHttpTransport(options: HttpTransportOptions): HttpTransport {
  const { limits, onActivity, onListening, sessionId } = options;
  const store = createEventStore(limits);
  const pending = createPendingRequests();
  const batchOf = new WeakMap<StoredStream, RequestBatch>();
  const deliveries = createDeliveryTracker({ crossingMs: CROSSING_MS });
  const open = new Set<ServerResponse>();
  const listening = new Set<ServerResponse>();
  // The batch whose stream is being written to: the SDK generates stream ids and passes them only to the event store.
  let current: RequestBatch | undefined;

  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => sessionId,
    retryInterval: RETRY_MS,
    eventStore: {
      ...store,
      storeEvent(streamId, message) {
        const stored = store.storeEvent(streamId, message);
        const stream = store.stream(streamId);
        if (current !== undefined && stream !== undefined) {
          current.stream = stream;
          batchOf.set(stream, current);
        }
        return stored;
      },
    },
  });
  const sendNow = transport.send.bind(transport);

  function during<T>(batch: RequestBatch | undefined, task: () => T): T {
    current = batch;
    try {
      return task();
    } finally {
      current = undefined;
    }
  }

  function settle(id: RequestId): RequestBatch | undefined {
    const batch = pending.settle(id);
    if (batch !== undefined) onActivity();
    return batch;
  }

  /** Notes which connection carries a batch's answers. */
  function carry(batch: RequestBatch, response: ServerResponse): void {
    if (batch.waiting.size > 0) batch.response = response;
    response.once("finish", () => {
      if (batch.waiting.size === 0) for (const tell of batch.onWritten.splice(0)) tell();
    });
  }

  function cancel(id: RequestId): void {
    deliveries.drop(id);
    // No answer will end the stream of a cancelled request.
    if (settle(id)?.waiting.size === 0) transport.closeSSEStream(id);
  }

  // The SDK calls this handler before its own.
  transport.onmessage = (message) => {
    if (isJSONRPCRequest(message)) {
      const batch = pending.find(message.id);
      if (batch !== undefined) batch.isTaken = true;
    }
    const cancelled = findCancelledRequest(message);
    if (cancelled !== undefined) cancel(cancelled);
  };
  transport.send = async (message: JSONRPCMessage, options?: TransportSendOptions) => {
    const isAnswer = !("method" in message);
    const id = isAnswer ? message.id : options?.relatedRequestId;
    const batch = id === undefined ? undefined : pending.find(id);
    const related = options?.relatedRequestId;
    const sent = during(batch, () => sendNow(message, related === undefined ? {} : { relatedRequestId: related }));
    const settled = isAnswer && id !== undefined ? settle(id) : undefined;
    await sent;
    // The SDK also waits for answers to the cancelled requests of a batch.
    if (settled?.waiting.size === 0 && id !== undefined) transport.closeSSEStream(id);
  };

  async function post({ body, release = () => undefined, request, response }: HttpRequest): Promise<void> {
    const ids = toMessages(body).flatMap((message) => (isJSONRPCRequest(message) ? [message.id] : []));
    const isFull = pending.count() + ids.length > limits.callsPerSession;
    const batch = isFull ? undefined : pending.begin(ids, response, release);
    if (batch === undefined || ids.length === 0) release();
    if (isFull) {
      return refuse(response, { status: 429, message: tooManyCalls(limits) });
    }
    if (batch === undefined) {
      return refuse(response, { status: 400, code: -32_600, message: "A request with this id is pending already." });
    }
    carry(batch, response);
    response.once("close", () => {
      // The SDK refused the request for its headers.
      if (!batch.isTaken) for (const id of ids) settle(id);
    });
    await during(batch, () => transport.handleRequest(request, response, body));
  }

  async function get({ request, response }: HttpRequest): Promise<void> {
    const lastEventId = request.headers["last-event-id"];
    if (typeof lastEventId !== "string" || lastEventId === "") return listen({ request, response });
    const found = store.since(lastEventId);
    if (found === undefined) {
      return refuse(response, { status: 400, message: "This session has no such event, or no longer keeps it." });
    }
    const batch = batchOf.get(found.stream);
    if (batch === undefined) return listen({ request, response });
    if (found.isWhole) carry(batch, response);
    if (!found.stream.isEnded) return transport.handleRequest(request, response);
    // The SDK would keep the connection of an ended stream open.
    writeEvents(response, { sessionId, events: found.events });
  }

  /** Opens the stream for messages that belong to no request. */
  function listen({ request, response }: HttpRequest): Promise<void> {
    if (request.headers.accept?.includes("text/event-stream") === true) {
      listening.add(response);
      response.once("close", () => listening.delete(response));
      setImmediate(onListening);
    }
    return transport.handleRequest(request, response);
  }

  return Object.assign(transport, {
    isInitialized: () => transport.sessionId !== undefined,
    isBusy: () => open.size > 0 || pending.count() > 0,
    isListening: () => listening.size > 0,
    isFull(request: RequestId) {
      const response = pending.find(request)?.response;
      return response === undefined || !open.has(response) || response.writableNeedDrain;
    },
    follow(...[request, tell]: Parameters<ClientTransport["follow"]>) {
      const batch = pending.find(request);
      // Already cancelled, so the answer will not be sent.
      if (batch === undefined) return tell("dropped");
      batch.onWritten.push(deliveries.follow(request, tell).delivered);
    },
    async handle(asked: HttpRequest) {
      const { request, response } = asked;
      open.add(response);
      response.once("close", () => {
        open.delete(response);
        onActivity();
      });
      onActivity();
      if (request.method === "GET") return get(asked);
      if (request.method !== "POST") return transport.handleRequest(request, response);
      return post(asked);
    },
  });
}

function toMessages(body: unknown): readonly unknown[] {
  return Array.isArray(body) ? body : [body];
}

function tooManyCalls({ callsPerSession }: HttpLimits): string {
  return `${callsPerSession} requests of this session are pending already. Wait for one, or cancel it.`;
}
