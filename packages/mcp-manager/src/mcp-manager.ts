import { BudgieError } from "@budgie/core";
import { isAllowedTool, type AllowedServer } from "./is-allowed-tool.ts";
import { LIMITS } from "./bounds/limits.ts";
import type { Connect } from "./transport/connect-on-host.ts";
import {
  createManagedServer,
  type ManagedServer,
  type ManagedServerOptions,
  type RequestOptions,
} from "./server/managed-server.ts";
import type { ForwardedMethod } from "./server/forwarded-methods.ts";
import type { ServerEvent, ServerStatus } from "./server/server-state.ts";
import type { SharedServer } from "./server/shared-server.ts";
import { hashTools, type McpTool } from "./server/list-tools.ts";
import { toToolResult, type ToolResult } from "./server/tool-result.ts";

export type McpManagerOptions = {
  readonly servers: readonly AllowedServer[];
  /** Connects to a server; `connectOnHost` starts processes on this machine */
  readonly connect: Connect;
  /** The `clientInfo` that servers get */
  readonly client: { readonly name: string; readonly version: string };
  readonly onEvent?: ((event: ServerEvent) => void) | undefined;
  /** The timeout of a start, in milliseconds; default 60 s */
  readonly startTimeoutMs?: number | undefined;
  /** Returns the instance of a server that managers share; `undefined` for one of this manager's own */
  readonly shared?: ((server: AllowedServer) => SharedServer | undefined) | undefined;
  /** The pause before a server that ended is started again, in milliseconds; default 1 s */
  readonly restartDelayMs?: number | undefined;
};

export type McpManager = AsyncDisposable & {
  /** Starts all servers at once. Resolves when each is ready or has failed; calls need not wait for it. */
  readonly start: () => Promise<void>;
  /** The servers, in the order in which they were given */
  readonly list: () => readonly ServerStatus[];
  /** Starts a server if necessary, and returns its tools that may be called. Throws if it cannot be used. */
  readonly tools: (server: string) => Promise<readonly McpTool[]>;
  /** Calls a tool. A result with `isError` is returned, and counted as failed. */
  readonly call: (server: string, call: ToolCall, options?: RequestOptions) => Promise<ToolResult>;
  /** Sends a request about prompts, resources or completions, and returns the result as it is. */
  readonly request: (
    server: string,
    request: { readonly method: ForwardedMethod; readonly params?: Readonly<Record<string, unknown>> },
    options?: RequestOptions,
  ) => Promise<Readonly<Record<string, unknown>>>;
  /** Returns the last lines that a server wrote, or that the manager logged about it. */
  readonly logs: (server: string) => readonly string[];
};

export type ToolCall = { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> };

/** Creates a manager of MCP servers. A server starts with `start` or at its first use. Disposal ends all of them. */
export function createMcpManager(options: McpManagerOptions): McpManager {
  const { client, connect, onEvent = () => undefined, restartDelayMs, startTimeoutMs } = options;
  const servers = new Map(options.servers.map((allowed) => [allowed.server.name, create(allowed)]));

  function create(allowed: AllowedServer): Entry {
    const { approved, server } = allowed;
    const user: Pick<ManagedServerOptions, "onEvent" | "select"> = {
      select: (tools) => tools.filter(({ name }) => isAllowedTool(name, allowed)),
      onEvent(event) {
        onEvent({ ...event, server: server.name } as ServerEvent);
        const isListed = event.kind === "ready" || (event.kind === "list-changed" && event.list === "tools");
        if (isListed && isOther(managed, approved)) onEvent({ kind: "tools-changed", tools: [], server: server.name });
      },
    };
    const managed =
      options.shared?.(allowed)?.join(user) ??
      createManagedServer({ server, connect, client, startTimeoutMs, restartDelayMs, ...user });
    return { allowed, managed, calls: 0, failed: 0, running: 0 };
  }

  function find(name: string): Entry {
    const entry = servers.get(name);
    if (entry !== undefined) return entry;
    throw new BudgieError("INPUT_INVALID", `There is no MCP server "${name}" that may be used.`);
  }

  async function call(name: string, { arguments: given, name: tool }: ToolCall, request: RequestOptions = {}) {
    const entry = find(name);
    if (!isAllowedTool(tool, entry.allowed)) {
      throw new BudgieError("INPUT_INVALID", `The tool "${tool}" of the MCP server "${name}" may not be called.`);
    }
    begin(entry);
    entry.calls += 1;
    let isWell = false;
    try {
      await awaitReady(entry);
      if (!entry.managed.tools().some((listed) => listed.name === tool)) throw noToolError(name, tool);
      const asked = { method: "tools/call", params: { name: tool, arguments: given } };
      const result = toToolResult(name, await entry.managed.request(asked, request));
      isWell = !result.isError;
      return result;
    } finally {
      entry.running -= 1;
      if (!isWell) entry.failed += 1;
    }
  }

  return {
    start: async () => void (await Promise.all([...servers.values()].map(({ managed }) => managed.start()))),
    list: () => [...servers.values()].map(statusOf),
    async tools(name) {
      const entry = find(name);
      await awaitReady(entry);
      return entry.managed.tools();
    },
    call,
    async request(name, asked, request = {}) {
      const entry = find(name);
      begin(entry);
      try {
        await awaitReady(entry);
        return await entry.managed.request(asked, request);
      } finally {
        entry.running -= 1;
      }
    },
    logs: (name) => find(name).managed.log.lines(),
    async [Symbol.asyncDispose]() {
      await Promise.all([...servers.values()].map(({ managed }) => managed.close()));
    },
  };
}

type Entry = {
  readonly allowed: AllowedServer;
  readonly managed: ManagedServer;
  calls: number;
  failed: number;
  running: number;
};

/** Counts a request that begins. Throws `QUEUE_FULL` if too many are pending. */
function begin(entry: Entry): void {
  if (entry.running >= LIMITS.callsAtOnce) {
    const { name } = entry.allowed.server;
    throw new BudgieError("QUEUE_FULL", `The MCP server "${name}" has ${LIMITS.callsAtOnce} calls already.`);
  }
  entry.running += 1;
}

/** Starts a server if necessary. Throws if it cannot be used, or has other tools than the approved ones and may not. */
async function awaitReady({ allowed, managed }: Entry): Promise<void> {
  await managed.ready();
  if (allowed.refusesOthers !== true || !isOther(managed, allowed.approved)) return;
  throw new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The MCP server "${allowed.server.name}" cannot be used: its tools differ from the approved ones.`,
  );
}

function noToolError(server: string, tool: string): BudgieError {
  return new BudgieError("INPUT_INVALID", `The MCP server "${server}" lists no tool "${tool}".`);
}

function statusOf({ allowed, calls, failed, managed }: Entry): ServerStatus {
  const error = managed.error();
  const [state, tools] = [managed.state(), managed.tools().length];
  const words = isOther(managed, allowed.approved) ? ({ toolsChanged: true } as const) : {};
  return { name: allowed.server.name, state, tools, calls, failed, error, ...words };
}

/** Tells whether a server's tools differ from the approved ones. */
function isOther(managed: ManagedServer, approved: string | undefined): boolean {
  return managed.state() === "ready" && approved !== undefined && hashTools(managed.tools()) !== approved;
}
