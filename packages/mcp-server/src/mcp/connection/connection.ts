import { Server, type ServerOptions } from "@modelcontextprotocol/sdk/server/index.js";
import type { CallToolResult, Implementation, RequestId } from "@modelcontextprotocol/sdk/types.js";
import { escapeForTerminal } from "../../terminal/printable.ts";
import type { ClientTransport, DeliveryState } from "./client-transport.ts";
import { callRequest, invalidParams, listRequest } from "./request-schemas.ts";
import { createProgress } from "../calls/progress.ts";
import { toRunIds } from "../calls/tool-result.ts";
import type { ClientTools } from "../calls/call-tool.ts";

/** One client's MCP session, over whatever transport. */
export type Connection = {
  /** Nothing is read before */
  readonly start: () => Promise<void>;
  /** Tells the client that the tools are others now. */
  readonly notifyToolListChanged: () => void;
  /** Aborts every call, ends what the client owns, and resolves when all is over */
  readonly close: () => Promise<void>;
};

/** Who is at the other end. */
export type Client = {
  /** What it calls itself; `undefined` before it has said so */
  readonly info: () => Implementation | undefined;
};

export type ConnectionOptions = {
  readonly version: string;
  /** What a client may tell its model about the tools as a whole */
  readonly instructions: string;
  readonly transport: ClientTransport;
  /** Makes the tools of this client, and what it alone may know of */
  readonly createTools: (client: Client) => ClientTools;
  /** How often a client that asked is told that its call goes on */
  readonly heartbeatMs: number;
  readonly report: (line: string) => void;
  /** Told of runs whose answers the client has, or had no use for any more */
  readonly onDelivery: (runIds: readonly string[], state: DeliveryState) => void;
  readonly onClientClosed: () => void;
};

// For what users answer when a server asks them, which this one never does; to make the SDK's own takes a tenth of a start.
const NO_VALIDATOR: NonNullable<ServerOptions["jsonSchemaValidator"]> = {
  getValidator() {
    throw new Error("budgie asks users nothing.");
  },
};

/** Creates the connection to one client. */
export function createConnection(options: ConnectionOptions): Connection {
  const { heartbeatMs, instructions, onClientClosed, onDelivery, report, createTools, transport, version } = options;
  // The high-level server answers an unknown tool as if it had failed, and empties schemas that it does not understand.
  const server = new Server(
    { name: "budgie", version },
    { capabilities: { tools: { listChanged: true } }, instructions, jsonSchemaValidator: NO_VALIDATOR },
  );
  const clientTools = createTools({ info: () => server.getClientVersion() });
  const calls = new Set<Promise<CallToolResult>>();

  server.setRequestHandler(listRequest, ({ params: { cursor } = {} }) => {
    // An empty one is what some clients send with their first request.
    if (cursor) throw invalidParams(`There is no page ${JSON.stringify(cursor)}: all tools come in one.`);
    return { tools: [...clientTools.definitions()] };
  });
  server.setRequestHandler(callRequest, async ({ params }, { requestId, sendNotification, signal }) => {
    const token = params._meta?.progressToken;
    const isFull = (): boolean => transport.isFull(requestId);
    const progress = createProgress({ token, send: sendNotification, isFull, heartbeatMs });
    const { onProgress } = progress;
    let drop: (() => void) | undefined;
    const ifDropped = (then: () => void): void => void (drop = then);
    const call = clientTools.call(params.name, params.arguments, { signal, onProgress, ifDropped });
    if (call === undefined) throw invalidParams(`There is no tool "${params.name}".`);
    calls.add(call);
    try {
      const result = await call;
      // What is cancelled by now is not sent.
      if (!signal.aborted) followResult(requestId, toRunIds(result), drop);
      return result;
    } catch (error) {
      // A bug of ours: the client gets its message, and this is the only place with its stack.
      report(String(error instanceof Error ? error.stack : error));
      throw error;
    } finally {
      progress.end();
      calls.delete(call);
    }
  });

  function followResult(requestId: RequestId, runIds: readonly string[], drop: (() => void) | undefined): void {
    if (runIds.length === 0 && drop === undefined) return;
    transport.follow(requestId, (state) => {
      if (runIds.length > 0) onDelivery(runIds, state);
      if (state === "dropped") drop?.();
    });
  }

  server.onerror = ({ message }) => report(`Trouble with the client: ${toOneLine(message)}`);
  server.onclose = onClientClosed;

  return {
    start: () => server.connect(transport),
    notifyToolListChanged() {
      // Before the client is there it has no list that could be old.
      if (server.getClientVersion() !== undefined) server.sendToolListChanged().catch(() => undefined);
    },
    async close() {
      await server.close();
      clientTools.stop();
      await Promise.allSettled(calls);
      await clientTools.close();
    },
  };
}

function toOneLine(text: string): string {
  return escapeForTerminal(text.replace(/\s+/g, " ")).slice(0, 300);
}
