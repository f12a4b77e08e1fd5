import { isRecord } from "@budgie/core/bounds";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import {
  ErrorCode,
  McpError,
  type JSONRPCRequest,
  type ServerNotification,
  type ServerRequest,
} from "@modelcontextprotocol/sdk/types.js";
import { BudgieError } from "@budgie/core";
import type { McpCall } from "@budgie/core/runs";
import { cleanLine, cleanText } from "../bounds/clean-text.ts";
import { LIMITS } from "../bounds/limits.ts";
import { withFallback } from "../bounds/with-fallback.ts";
import { FORWARDED_METHODS, type ForwardedMethod } from "../server/forwarded-methods.ts";
import type { RequestOptions } from "../server/managed-server.ts";
import type { ToolResult } from "../server/tool-result.ts";
import type { McpTool } from "../server/list-tools.ts";

/** The parts of a manager that agents use. */
type EndpointManager = {
  readonly tools: (server: string) => Promise<readonly McpTool[]>;
  readonly call: (
    server: string,
    call: { readonly name: string; readonly arguments: Params },
    options: RequestOptions,
  ) => Promise<ToolResult>;
  readonly request: (
    server: string,
    request: { readonly method: ForwardedMethod; readonly params: Params },
    options: RequestOptions,
  ) => Promise<Params>;
};

export type AnswersOptions = {
  readonly manager: EndpointManager;
  /** Called after each tool call */
  readonly onCall?: ((call: McpCall) => void) | undefined;
  /** Tells whether the client has left so many answers unread that it gets no more; default never */
  readonly isFull?: (() => boolean) | undefined;
};

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;
type Result = Record<string, unknown>;

// An agent waits for the lists of all its servers before it begins.
const LIST_WAIT_MS = 5000;

/** Returns a function that answers a client's requests to one server of a manager. */
export function createAnswers(
  server: string,
  { isFull, manager, onCall }: AnswersOptions,
): (request: JSONRPCRequest, extra: Extra) => Promise<Result> {
  function refuseUnread(): void {
    if (isFull?.() !== true) return;
    throw new BudgieError("RUNNER_UNAVAILABLE", "Too many answers wait to be read. Read them, and ask again.");
  }

  /** Lists the tools; none if the server has failed or takes too long to start. */
  async function list(): Promise<Result> {
    const tools = await withFallback(manager.tools(server), LIST_WAIT_MS, []);
    return { tools: tools.map(toOffered) };
  }

  async function call(params: Params, options: RequestOptions): Promise<Result> {
    const { arguments: given = {}, name } = params;
    if (typeof name !== "string" || !isRecord(given)) throw new McpError(ErrorCode.InvalidParams, "No tool is named.");
    const began = performance.now();
    const end = (outcome: McpCall["outcome"]): void =>
      onCall?.({
        server,
        tool: cleanLine(name, LIMITS.name),
        durationMs: Math.round(performance.now() - began),
        outcome,
      });
    try {
      const result = await manager.call(server, { name, arguments: given }, options);
      refuseUnread();
      end(result.isError ? "failed" : "done");
      return clean(result);
    } catch (error) {
      if (!(error instanceof BudgieError)) throw error;
      end(error.code);
      if (error.code === "INPUT_INVALID") throw new McpError(ErrorCode.InvalidParams, error.message);
      // A result, since agent programs show their models little of a protocol error.
      return { content: [{ type: "text", text: error.message }], isError: true };
    }
  }

  async function forward(method: ForwardedMethod, params: Params, options: RequestOptions): Promise<Result> {
    const { _meta, ...rest } = params;
    const answered = manager.request(server, { method, params: rest }, options).then((result) => {
      refuseUnread();
      return clean(result);
    });
    const key = LISTS[method];
    // Servers with only tools have no such lists.
    if (key !== undefined) return withFallback(answered, LIST_WAIT_MS, { [key]: [] });
    try {
      return await answered;
    } catch (error) {
      throw error instanceof BudgieError ? new McpError(ErrorCode.InvalidParams, error.message) : error;
    }
  }

  return async ({ method, params = {} }, extra) => {
    const options = { signal: extra.signal, onProgress: createOnProgress(params, extra, isFull) };
    if (method === "tools/list") return list();
    if (method === "tools/call") return call(params, options);
    if (isForwarded(method)) return forward(method, params, options);
    throw new McpError(ErrorCode.MethodNotFound, "Method not found");
  };
}

type Params = Readonly<Record<string, unknown>>;

const LISTS: { readonly [Method in ForwardedMethod]?: string } = {
  "prompts/list": "prompts",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
};

function isForwarded(method: string): method is ForwardedMethod {
  return (FORWARDED_METHODS as readonly string[]).includes(method);
}

/** Returns a tool in a form that clients accept: one invalid schema makes them refuse the whole list. */
function toOffered({ inputSchema, outputSchema, ...tool }: McpTool) {
  return {
    ...tool,
    inputSchema: { ...inputSchema, type: "object" },
    ...(outputSchema?.["type"] === "object" ? { outputSchema } : {}),
  };
}

/** Returns a result without invisible characters. */
function clean(result: object): Result {
  const text = JSON.stringify(result);
  return JSON.parse(text, (_, value: unknown) => (typeof value === "string" ? cleanText(value, value.length) : value));
}

/** Returns a function that passes on the progress of a request, unless too many answers are unread already. */
function createOnProgress(
  { _meta }: Params,
  { sendNotification }: Extra,
  isFull: AnswersOptions["isFull"],
): RequestOptions["onProgress"] {
  const token = isRecord(_meta) ? _meta["progressToken"] : undefined;
  if (typeof token !== "number" && typeof token !== "string") return undefined;
  return (progress) => {
    if (isFull?.() === true) return;
    const params = { ...progress, progressToken: token };
    void sendNotification({ method: "notifications/progress", params }).catch(() => undefined);
  };
}
