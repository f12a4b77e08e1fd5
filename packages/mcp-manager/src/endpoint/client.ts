import { isRecord } from "@budgie/core/bounds";
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ErrorCode, type JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import type { ChangedList } from "../bounds/with-bounds.ts";
import { ANYTHING } from "../server/connection.ts";
import { createAnswers, type AnswersOptions } from "./answers.ts";

/** One client of a server's endpoint. */
export type Client = {
  readonly id: string;
  readonly server: string;
  readonly handle: (asked: Asked) => Promise<void>;
  /** Tells whether the client has sent a valid `initialize`. */
  readonly isBegun: () => boolean;
  readonly tellChanged: (list: ChangedList) => void;
  readonly onEnd: (listener: () => void) => void;
  readonly close: () => Promise<void>;
};

/** A request and its parsed body, which only a POST has. */
export type Asked = { readonly request: IncomingMessage; readonly response: ServerResponse; readonly body: unknown };

/** Opens the connection of a client that is about to send `initialize`. */
export async function openClient(
  name: string,
  { version, ...options }: AnswersOptions & { readonly version: string },
): Promise<Client> {
  const id = randomUUID();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => id });
  const changes = { listChanged: true };
  // All of them, since the server may not be ready yet. Some clients wait forever for a server without tools.
  const capabilities = { tools: changes, prompts: changes, resources: changes, completions: {} };
  const server = new Server({ name, version }, { capabilities, jsonSchemaValidator: ANYTHING });
  server.fallbackRequestHandler = createAnswers(name, options);
  // The SDK never answers a cancelled request, and only an answer makes it end the stream and forget the id.
  transport.onmessage = (message) => {
    const id = findCancelled(message);
    if (id === undefined) return;
    transport.closeSSEStream(id);
    const error = { code: ErrorCode.ConnectionClosed, message: "cancelled" };
    void transport.send({ jsonrpc: "2.0", id, error }).catch(() => undefined);
  };
  await server.connect(transport as Transport);
  return {
    id,
    server: name,
    handle({ body, request, response }) {
      response.once("close", () => {
        // Nobody can get the answer any more, and the call would keep its arguments in memory.
        if (!response.writableFinished)
          for (const id of listRequestIds(body)) transport.onmessage?.(cancellationOf(id));
      });
      return transport.handleRequest(request, response, body);
    },
    isBegun: () => transport.sessionId !== undefined,
    tellChanged(list) {
      void server.notification({ method: `notifications/${list}/list_changed` }).catch(() => undefined);
    },
    onEnd: (listener) => void (server.onclose = listener),
    close: () => server.close(),
  };
}

function listRequestIds(body: unknown): readonly (number | string)[] {
  return [body].flat().flatMap((message) => {
    const { id, method } = isRecord(message) ? message : {};
    return typeof method === "string" && (typeof id === "number" || typeof id === "string") ? [id] : [];
  });
}

function cancellationOf(requestId: number | string): JSONRPCMessage {
  return { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } };
}

function findCancelled(message: JSONRPCMessage): number | string | undefined {
  if (!("method" in message) || message.method !== "notifications/cancelled") return undefined;
  const { requestId } = (message.params ?? {}) as { readonly requestId?: unknown };
  return typeof requestId === "number" || typeof requestId === "string" ? requestId : undefined;
}
