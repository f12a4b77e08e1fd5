import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { BudgieError } from "@budgie/core";
import type { McpServer } from "../config/mcp-server.ts";
import type { Connect } from "../transport/connect-on-host.ts";
import { openConnection, type Connection, type McpRequest } from "./connection.ts";
import { refuseUnoffered } from "./forwarded-methods.ts";
import { createServerLog, type ServerLog } from "./server-log.ts";
import { loginError, explainServerError, requestError, wantsLogin } from "./explain-server-error.ts";
import type { ServerEvent, ServerState } from "./server-state.ts";
import { createToolTracker } from "./tool-tracker.ts";
import { createListChanges } from "./list-changes.ts";
import { listTools, type McpTool, type ToolList } from "./list-tools.ts";

export type RequestOptions = {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: McpProgress) => void) | undefined;
};

/** Progress of a request, as the server reported it. */
export type McpProgress = { readonly progress: number; readonly total?: number; readonly message?: string };

/** One server over its lifetime, which may span several connections. */
export type ManagedServer = {
  readonly state: () => ServerState;
  readonly error: () => string | undefined;
  readonly tools: () => readonly McpTool[];
  readonly log: ServerLog;
  /** Starts the server if necessary. Resolves when it is ready or has failed. */
  readonly start: () => Promise<void>;
  /** Starts the server if necessary. Rejects if it cannot be used. */
  readonly ready: () => Promise<unknown>;
  readonly request: (request: McpRequest, options: RequestOptions) => Promise<Readonly<Record<string, unknown>>>;
  readonly close: () => Promise<void>;
};

export type ManagedServerOptions = {
  readonly server: McpServer;
  readonly connect: Connect;
  readonly client: { readonly name: string; readonly version: string };
  /** The timeout of a start, in milliseconds; default 60 s */
  readonly startTimeoutMs?: number | undefined;
  /** The pause before a server that ended is started again, in milliseconds; default 1 s */
  readonly restartDelayMs?: number | undefined;
  readonly onEvent: (event: Event) => void;
  /** Selects the tools that callers may know */
  readonly select: (tools: readonly McpTool[]) => readonly McpTool[];
};

type Event = DistributedOmit<ServerEvent, "server">;
type DistributedOmit<Union, Key extends PropertyKey> = Union extends unknown ? Omit<Union, Key> : never;

/** Creates a server, without starting it. It is restarted once if it ends by itself. */
export function createManagedServer(options: ManagedServerOptions): ManagedServer {
  const { client, connect, onEvent, restartDelayMs = 1000, select, server, startTimeoutMs = 60_000 } = options;
  const log = createServerLog();
  const closing = new AbortController();
  let state: ServerState = "not-launched";
  let error: string | undefined;
  let tools: readonly McpTool[] = [];
  let connection: Connection | undefined;
  let settled: Promise<void> | undefined;
  let isRestarted = false;
  const findChanged = createToolTracker();
  const hearChange = createListChanges(async (changed) => {
    if (changed === "tools") await relist();
    else onEvent({ kind: "list-changed", list: changed });
  }, closing.signal);

  async function launch(): Promise<void> {
    state = "initializing";
    error = undefined;
    onEvent({ kind: "initializing" });
    let isCurrent = true;
    try {
      const started = await openConnection(
        connect(server, log.add),
        {
          log: log.add,
          changed: (list) => void (isCurrent && connection !== undefined && hearChange(list)),
          ended(reason) {
            if (!isCurrent || connection === undefined) return;
            isCurrent = false;
            settled = recover(reason);
          },
        },
        { client, timeoutMs: startTimeoutMs, signal: createSignal() },
      );
      connection = started;
      const listed = await list(started);
      if (!isCurrent) return;
      state = "ready";
      take(listed, ({ length }) => ({ kind: "ready", tools: length, problems: listed.problems }));
    } catch (failure) {
      if (isCurrent) await fail(failure);
    }
  }

  async function list(from: Connection) {
    if (from.capabilities.tools === undefined) return { tools: [], problems: [] };
    return listTools((cursor, schema) =>
      from.request({ method: "tools/list", ...(cursor === undefined ? {} : { params: { cursor } }) }, schema, {
        timeout: startTimeoutMs,
        signal: createSignal(),
      }),
    );
  }

  /** Stores a list of the tools. Reports it, and the tools whose definitions have changed. */
  function take({ problems, tools: all }: ToolList, toEvent: (tools: readonly McpTool[]) => Event): void {
    for (const problem of problems) log.add(problem);
    tools = select(all);
    const changed = findChanged(tools);
    onEvent(toEvent(tools));
    if (changed.length > 0) onEvent({ kind: "tools-changed", tools: changed });
  }

  /** Returns a new signal for each request, since the SDK leaves its listeners on it. */
  function createSignal(signal?: AbortSignal): AbortSignal {
    return AbortSignal.any(signal === undefined ? [closing.signal] : [signal, closing.signal]);
  }

  async function fail(failure: unknown): Promise<void> {
    const old = connection;
    connection = undefined;
    tools = [];
    await old?.close();
    if (closing.signal.aborted) return;
    log.add(explainServerError(failure));
    state = wantsLogin(failure) ? "needs-auth" : "error";
    error = state === "error" ? explainServerError(failure) : undefined;
    onEvent(state === "error" ? { kind: "error", error: explainServerError(failure) } : { kind: "needs-auth" });
  }

  /** Restarts a server that ended by itself, but only once. */
  async function recover(reason: unknown): Promise<void> {
    const old = connection;
    connection = undefined;
    // Not awaited, so that the state shows the end at once.
    void old?.close().catch(() => undefined);
    if (closing.signal.aborted) return;
    if (isRestarted) return fail(reason);
    isRestarted = true;
    state = "initializing";
    log.add(explainServerError(reason));
    onEvent({ kind: "restarting", error: explainServerError(reason) });
    await sleep(restartDelayMs, undefined, { signal: closing.signal }).catch(() => undefined);
    if (!closing.signal.aborted) await launch();
  }

  async function relist(): Promise<void> {
    const from = connection;
    if (from === undefined) return;
    try {
      const listed = await list(from);
      if (connection === from) take(listed, () => ({ kind: "list-changed", list: "tools" }));
    } catch (failure) {
      log.add(`Its tools cannot be listed again: ${explainServerError(failure)}`);
    }
  }

  async function request(asked: McpRequest, { onProgress, signal }: RequestOptions) {
    const from = await awaitReady();
    refuseUnoffered(server.name, asked.method, from.capabilities);
    const stop = createSignal(signal);
    const what = formatRequest(asked);
    try {
      return await from.request(asked, z.looseObject({}), {
        timeout: server.timeoutMs,
        maxTotalTimeout: Math.max(MOST_MS, server.timeoutMs),
        resetTimeoutOnProgress: true,
        onprogress: ({ message, progress, total }) =>
          onProgress?.({
            progress,
            ...(total === undefined ? {} : { total }),
            ...(message === undefined ? {} : { message }),
          }),
        signal: stop,
      });
    } catch (failure) {
      // The end of a connection is noticed a moment later, and the caller's next request must use the next connection.
      await nextTurn();
      if (stop.aborted) throw new BudgieError("CANCELLED", `The MCP server "${server.name}" was stopped in ${what}.`);
      if (wantsLogin(failure) && connection === from) await fail(failure);
      throw requestError(server.name, what, failure);
    }
  }

  async function awaitReady(): Promise<Connection> {
    await start();
    if (state === "ready" && connection !== undefined) return connection;
    if (state === "needs-auth") throw loginError(server.name);
    const reason = closing.signal.aborted ? "it was closed" : (error ?? "it is not there");
    throw new BudgieError(
      "RUNNER_UNAVAILABLE",
      `The MCP server "${server.name}" cannot be used: ${reason.replace(/\.$/, "")}.`,
    );
  }

  async function start(): Promise<void> {
    if (closing.signal.aborted) return;
    // The user may have logged in since.
    if (state === "needs-auth") settled = undefined;
    // A restart replaces the promise that was awaited.
    for (let awaited; awaited !== settled || awaited === undefined;) await (awaited = settled ??= launch());
  }

  return {
    state: () => state,
    error: () => error,
    tools: () => tools,
    log,
    start,
    ready: awaitReady,
    request,
    async close() {
      closing.abort(new Error("it was closed"));
      const old = connection;
      connection = undefined;
      state = "not-launched";
      await old?.close();
      await settled;
    },
  };
}

const MOST_MS = 3_600_000;

function formatRequest({ method, params }: McpRequest): string {
  return method === "tools/call" ? `the tool "${String(params?.["name"])}"` : method;
}
