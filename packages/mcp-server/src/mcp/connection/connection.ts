import { setImmediate } from "node:timers/promises";
import { Server, type ServerOptions } from "@modelcontextprotocol/sdk/server/index.js";
import type { CallToolResult, Implementation, RequestId } from "@modelcontextprotocol/sdk/types.js";
import { escapeForTerminal } from "@budgie/core/text";
import type { ClientTransport, DeliveryState } from "./client-transport.ts";
import { createAsk } from "./create-ask.ts";
import { callRequest, invalidParams, listRequest } from "./request-schemas.ts";
import { createProgress } from "../calls/progress.ts";
import { listRunIds } from "../calls/to-reply-result.ts";
import type { ClientTools } from "../calls/client-tools.ts";
import { discoverRequest, refuseRevision } from "./refuse-revision.ts";
import { createToldSessions } from "./told-sessions.ts";

/** One client's MCP session, over any transport. */
export type Connection = {
  /** Starts reading. */
  readonly start: () => Promise<void>;
  /** Sends `notifications/tools/list_changed`. */
  readonly notifyToolListChanged: () => void;
  /** Aborts every call, answers it, ends what the client owns, and resolves when all have ended. */
  readonly close: () => Promise<void>;
};

/** The client of a connection. */
export type Client = {
  /** The name and version that the client gave; `undefined` before `initialize` */
  readonly info: () => Implementation | undefined;
};

export type ConnectionOptions = {
  readonly version: string;
  /** A description of all tools, for the client's model */
  readonly instructions: string;
  readonly transport: ClientTransport;
  /** Creates the tools of a client, with the state that belongs to it alone */
  readonly createTools: (client: Client) => ClientTools;
  /** The interval of progress notifications, for clients that ask for them */
  readonly heartbeatMs: number;
  /** The time that a person has to answer a question; default five minutes */
  readonly askLimitMs?: number;
  readonly report: (line: string) => void;
  /** Called with the runs whose answers were delivered or dropped */
  readonly onDelivery: (runIds: readonly string[], state: DeliveryState) => void;
  readonly onClientClosed: () => void;
};

// The validator checks what a form's person typed, which budgie does itself. Creating the SDK's takes a tenth of the startup time.
const NO_VALIDATOR: NonNullable<ServerOptions["jsonSchemaValidator"]> = {
  getValidator: () => (typed) => ({ valid: true, data: typed as never, errorMessage: undefined }),
};

const ASK_LIMIT_MS = 5 * 60_000;

/** Creates the connection to one client. */
export function createConnection(options: ConnectionOptions): Connection {
  const { heartbeatMs, instructions, onClientClosed, onDelivery, report, createTools, transport, version } = options;
  const { askLimitMs = ASK_LIMIT_MS } = options;
  // `McpServer` answers a call of an unknown tool as a failed call, and empties schemas that it does not understand.
  const server = new Server(
    { name: "budgie", version },
    { capabilities: { tools: { listChanged: true } }, instructions, jsonSchemaValidator: NO_VALIDATOR },
  );
  const clientTools = createTools({ info: () => server.getClientVersion() });
  const calls = new Map<Promise<CallToolResult>, AbortController>();
  let isClosing = false;
  const toldSessions = createToldSessions();

  server.setRequestHandler(discoverRequest, (request) => {
    refuseRevision(request);
    return {};
  });
  server.setRequestHandler(listRequest, (request) => {
    refuseRevision(request);
    const { params: { cursor } = {} } = request;
    // Some clients send an empty cursor with their first request.
    if (cursor) throw invalidParams(`There is no page ${JSON.stringify(cursor)}: the first page has all tools.`);
    return { tools: [...clientTools.definitions()] };
  });
  server.setRequestHandler(callRequest, async (request, { requestId, sendNotification, signal }) => {
    refuseRevision(request);
    const { params } = request;
    const token = params._meta?.progressToken;
    const isFull = (): boolean => transport.isFull(requestId);
    const progress = createProgress({ token, send: sendNotification, isFull, heartbeatMs });
    toldSessions.name(params.arguments?.["sessionId"]);
    let drop: (() => void) | undefined;
    const ifDropped = (then: () => void): void => void (drop = then);
    const ending = new AbortController();
    signal.addEventListener("abort", () => ending.abort(signal.reason), { once: true });
    if (isClosing) ending.abort();
    const ask = createAsk(server, { requestId, signal: ending.signal, limitMs: askLimitMs });
    const hooks = { signal: ending.signal, events: progress.events, ifDropped, ask };
    const call = clientTools.call(params.name, params.arguments, hooks);
    if (call === undefined) throw invalidParams(`There is no tool "${params.name}".`);
    calls.set(call, ending);
    try {
      const result = await call;
      // The SDK does not send the result of a cancelled request.
      if (!signal.aborted) followResult(requestId, result, drop);
      // Some clients read a missing `isError` as unknown.
      return { isError: false, ...result };
    } catch (error) {
      // A bug in budgie: the client gets the message, and no other place has the stack.
      report(String(error instanceof Error ? error.stack : error));
      throw error;
    } finally {
      progress.end();
      calls.delete(call);
    }
  });

  function followResult(requestId: RequestId, result: CallToolResult, drop: (() => void) | undefined): void {
    const runIds = listRunIds(result);
    if (runIds.length === 0 && drop === undefined) return toldSessions.tell(result, () => undefined);
    let isProven = false;
    toldSessions.tell(result, () => {
      isProven = true;
      if (runIds.length > 0) onDelivery(runIds, "delivered");
    });
    transport.follow(requestId, (state) => {
      if (isProven) return;
      if (runIds.length > 0) onDelivery(runIds, state);
      if (state === "dropped") drop?.();
    });
  }

  server.onerror = ({ message }) => report(`Trouble with the client: ${oneLine(message)}`);
  server.onclose = onClientClosed;

  return {
    start: () => server.connect(transport),
    notifyToolListChanged() {
      // A client that has not initialized has no list yet.
      if (server.getClientVersion() !== undefined) server.sendToolListChanged().catch(() => undefined);
    },
    async close() {
      isClosing = true;
      clientTools.stop();
      for (const ending of calls.values()) ending.abort();
      await Promise.allSettled(calls.keys());
      // The SDK sends the results before the next event, unless the client has left.
      await setImmediate();
      await server.close();
      await clientTools.close();
    },
  };
}

function oneLine(text: string): string {
  return escapeForTerminal(text.replace(/\s+/g, " ")).slice(0, 300);
}
