import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  type CallToolResult,
} from "@modelcontextprotocol/sdk/types.js";
import type { Host } from "../host.ts";
import { createProgress } from "./progress.ts";
import { createTellingTransport, type Fate } from "./telling-transport.ts";
import { toRunIds } from "./tool-result.ts";
import type { Toolbox } from "./toolbox.ts";

/** An MCP server for the one client on stdin and stdout. */
export type StdioServer = {
  readonly start: () => Promise<void>;
  /** Aborts every call, and resolves when all are over */
  readonly close: () => Promise<void>;
};

export type StdioServerOptions = {
  readonly version: string;
  readonly toolbox: Toolbox;
  readonly host: Pick<Host, "report" | "stdin" | "stdout">;
  /** Told of runs whose answers the client has, or had no use for any more */
  readonly onDelivery: (runIds: readonly string[], fate: Fate) => void;
  readonly onClientGone: () => void;
};

const INSTRUCTIONS =
  "Each tool is an agent that works on its own in the directory you name and answers once. It knows nothing of your " +
  "conversation: put all it needs in the prompt. Its answer carries a sessionId; pass it to go on with the same agent.";

/** Creates the server; nothing is read before it is started. */
export function createStdioServer(options: StdioServerOptions): StdioServer {
  const { host, onClientGone, onDelivery, toolbox, version } = options;
  // The high-level server answers an unknown tool as if it had failed, and empties schemas that it does not understand.
  const server = new Server({ name: "budgie", version }, { capabilities: { tools: {} }, instructions: INSTRUCTIONS });
  const calls = new Set<Promise<CallToolResult>>();
  const transport = createTellingTransport(host);

  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...toolbox.definitions] }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { requestId, sendNotification, signal }) => {
    const token = params._meta?.progressToken;
    const progress = createProgress({ token, send: sendNotification, stdout: host.stdout });
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
      host.report(String(error instanceof Error ? error.stack : error));
      throw error;
    } finally {
      progress.end();
      calls.delete(call);
    }
  });
  server.onerror = ({ message }) => host.report(`Trouble with the client: ${toOneLine(message)}`);
  server.onclose = onClientGone;

  return {
    async start() {
      // The transport itself looks out for neither.
      host.stdin.on("end", onClientGone).on("close", onClientGone);
      host.stdout.on("error", onClientGone);
      await server.connect(transport);
    },
    async close() {
      await server.close();
      await Promise.allSettled(calls);
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
