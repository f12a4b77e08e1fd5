import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  type CallToolResult,
  type Implementation,
} from "@modelcontextprotocol/sdk/types.js";
import type { ClientTransport, Fate } from "./client-transport.ts";
import { createProgress } from "./progress.ts";
import { toRunIds } from "./tool-result.ts";
import type { Toolbox } from "./toolbox.ts";

/** One client's MCP session, over whatever transport. */
export type Connection = {
  /** Nothing is read before */
  readonly start: () => Promise<void>;
  /** Tells the client that the tools are others now. */
  readonly tellOfTools: () => void;
  /** Aborts every call, ends what the client owns, and resolves when all is over */
  readonly close: () => Promise<void>;
};

/** Who is at the other end. */
type Client = {
  /** What it calls itself; `undefined` before it has said so */
  readonly info: () => Implementation | undefined;
};

export type ConnectionOptions = {
  readonly version: string;
  readonly transport: ClientTransport;
  /** Makes the tools of this client, and what it alone may know of */
  readonly toToolbox: (client: Client) => Toolbox;
  /** How often a client that asked is told that its call goes on */
  readonly heartbeatMs: number;
  readonly report: (line: string) => void;
  /** Told of runs whose answers the client has, or had no use for any more */
  readonly onDelivery: (runIds: readonly string[], fate: Fate) => void;
  readonly onClientGone: () => void;
};

const INSTRUCTIONS =
  "Each tool is an agent that works on its own in the directory you name and answers once. It knows nothing of your " +
  "conversation: put all it needs in the prompt. Its answer carries a sessionId; pass it to go on with the same agent.";

/** Creates the connection to one client. */
export function createConnection(options: ConnectionOptions): Connection {
  const { heartbeatMs, onClientGone, onDelivery, report, toToolbox, transport, version } = options;
  // The high-level server answers an unknown tool as if it had failed, and empties schemas that it does not understand.
  const server = new Server(
    { name: "budgie", version },
    { capabilities: { tools: { listChanged: true } }, instructions: INSTRUCTIONS },
  );
  const toolbox = toToolbox({ info: () => server.getClientVersion() });
  const calls = new Set<Promise<CallToolResult>>();

  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...toolbox.definitions()] }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { requestId, sendNotification, signal }) => {
    const token = params._meta?.progressToken;
    const isFull = (): boolean => transport.isFull(requestId);
    const progress = createProgress({ token, send: sendNotification, isFull, heartbeatMs });
    const { onProgress } = progress;
    const call = toolbox.call(params.name, params.arguments, { signal, onProgress });
    if (call === undefined) throw invalidParams(`There is no tool "${params.name}".`);
    calls.add(call);
    try {
      const result = await call;
      const runIds = toRunIds(result);
      // What is cancelled by now is not sent.
      if (runIds.length > 0 && !signal.aborted) transport.follow(requestId, (fate) => onDelivery(runIds, fate));
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
  server.onerror = ({ message }) => report(`Trouble with the client: ${toOneLine(message)}`);
  server.onclose = onClientGone;

  return {
    start: () => server.connect(transport),
    tellOfTools() {
      // Before the client is there it has no list that could be old.
      if (server.getClientVersion() !== undefined) server.sendToolListChanged().catch(() => undefined);
    },
    async close() {
      await server.close();
      await Promise.allSettled(calls);
      await toolbox.close();
    },
  };
}

function toOneLine(text: string): string {
  return text.replace(/\s+/g, " ").slice(0, 300);
}

/** The SDK's own error says its code twice. */
function invalidParams(message: string): Error {
  return Object.assign(new Error(message), { code: ErrorCode.InvalidParams });
}
