import { setTimeout as sleep } from "node:timers/promises";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import {
  ErrorCode,
  McpError,
  type CallToolResult,
  type ServerNotification,
  type ServerRequest,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import type { MockAction, MockHost, MockTool } from "./mock-options.ts";

type Context = MockHost & {
  readonly extra: RequestHandlerExtra<ServerRequest, ServerNotification>;
  readonly setTools: (tools: readonly MockTool[]) => void;
};

type Actions = {
  readonly [Kind in MockAction["kind"]]: (
    action: Extract<MockAction, { readonly kind: Kind }>,
    context: Context,
  ) => CallToolResult | Promise<CallToolResult>;
};

/** Runs a tool, and returns its result. */
export async function runMockAction(
  tool: MockTool | undefined,
  given: unknown,
  context: Context,
): Promise<CallToolResult> {
  if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, "Unknown tool");
  if (tool.does === undefined) return toText(JSON.stringify(given));
  return ACTIONS[tool.does.kind](tool.does as never, context);
}

const ACTIONS: Actions = {
  async wait({ ms }, { extra }) {
    await sleep(ms, undefined, { signal: extra.signal });
    return toText("waited");
  },
  crash(_, { crash }) {
    crash();
    return new Promise(() => undefined);
  },
  fail: () => ({ ...toText("it failed"), isError: true }),
  refuse() {
    throw new McpError(ErrorCode.InvalidParams, "wrong arguments");
  },
  async progress({ count, text = "step" }, { extra }) {
    const token = extra._meta?.progressToken;
    for (let progress = 1; token !== undefined && progress <= count; progress += 1) {
      const params = { progressToken: token, progress, total: count, message: `${text} ${progress}` };
      await extra.sendNotification({ method: "notifications/progress", params });
    }
    return toText("done");
  },
  async log({ count, text = "line" }, { extra }) {
    for (let index = 0; index < count; index += 1) {
      await extra.sendNotification({ method: "notifications/message", params: { level: "info", data: text } });
    }
    return toText("done");
  },
  large: ({ length }) => toText("x".repeat(length)),
  env: ({ names }, { env }) => toText(JSON.stringify(names.map((name) => env[name] ?? null))),
  async change({ count = 1, tools }, { extra, setTools }) {
    setTools(tools);
    for (let index = 0; index < count; index += 1) {
      await extra.sendNotification({ method: "notifications/tools/list_changed" });
    }
    return toText("changed");
  },
  async ask(_, { extra }) {
    const methods = ["sampling/createMessage", "elicitation/create", "roots/list"];
    const codes = await Promise.all(
      methods.map((method) =>
        extra.sendRequest({ method, params: {} } as unknown as ServerRequest, z.looseObject({})).then(
          () => 0,
          (error: { readonly code?: number }) => error.code,
        ),
      ),
    );
    return toText(JSON.stringify(codes));
  },
  result: ({ result }) => result as unknown as CallToolResult,
};

function toText(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}
