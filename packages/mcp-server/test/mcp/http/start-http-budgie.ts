import { once } from "node:events";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { kiroCliPath } from "@budgie/testkit";
import {
  TEST_IMAGE,
  toEngineVariables,
  waitFor,
  type Budgie,
  type BudgieUser,
} from "../../../../cli/test/helpers/start-budgie.ts";

export const TOKEN = "a-token-for-tests-of-at-least-32-characters";

/** A client of the official SDK, in a session of its own. */
export type HttpClient = {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
  readonly ask: (
    agent: string,
    input: Readonly<Record<string, unknown>>,
    signal?: AbortSignal,
  ) => Promise<CallToolResult>;
};

/** A running budgie that listens on a free port. */
export type HttpBudgie = AsyncDisposable & {
  readonly url: URL;
  readonly child: Budgie["child"];
  readonly stderr: () => string;
  readonly stdout: () => string;
  /** Connects a client, directly or over the given connection */
  readonly connect: (way?: URL) => Promise<HttpClient>;
  /** Sends a request with the token and the usual headers of an MCP client */
  readonly send: (request: RawRequest) => Promise<Response>;
  /** Ends it by a signal, and returns its exit code */
  readonly end: (signal?: NodeJS.Signals) => Promise<number | null>;
};

type RawRequest = {
  readonly method: string;
  /** Headers besides those that every MCP client sends */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
};

type StartOptions = {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly sandbox?: boolean;
};

/** Starts budgie over HTTP, with nothing on stdin. */
export async function startHttpBudgie(
  user: BudgieUser,
  { args = [], env = {}, sandbox = false }: StartOptions = {},
): Promise<HttpBudgie> {
  const http = ["--transport", "http", "--port", "0", ...args];
  const own = sandbox
    ? { argv: ["--sandbox", "--sandbox-image", TEST_IMAGE], env: { ...toEngineVariables(), BUDGIE_SWEEP_EVERY: "0" } }
    : { argv: ["--kiro-binary", kiroCliPath, "--env", "FAKE_KIRO_LOG"], env: {} };
  const child = user.launch([...own.argv, ...http], { ...own.env, BUDGIE_HTTP_TOKEN: TOKEN, ...env });
  const [errors, output]: [Buffer[], Buffer[]] = [[], []];
  child.stderr?.on("data", (piece: Buffer) => errors.push(piece));
  child.stdout?.on("data", (piece: Buffer) => output.push(piece));
  child.stdin?.end();
  const stderr = (): string => Buffer.concat(errors).toString();
  const ended = once(child, "close") as Promise<[number | null]>;
  const address = await waitFor(() => {
    if (child.exitCode !== null) throw new Error(`budgie did not start: ${stderr()}`);
    return /Listening on (\S+)$/m.exec(stderr())?.[1];
  });
  const url = new URL(address);
  const clients: Client[] = [];

  async function end(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    if (child.exitCode === null) child.kill(signal);
    const [exitCode] = await ended;
    return exitCode;
  }

  return {
    url,
    child,
    stderr,
    stdout: () => Buffer.concat(output).toString(),
    async connect(way = url) {
      const client = new Client({ name: "test", version: "1.0.0" });
      const headers = { authorization: `Bearer ${TOKEN}` };
      const transport = new StreamableHTTPClientTransport(way, { requestInit: { headers } });
      // Its optional sessionId does not fit strict optional properties.
      await client.connect(transport as Parameters<Client["connect"]>[0]);
      clients.push(client);
      const ask: HttpClient["ask"] = async (agent, input, signal) => {
        const call = { name: `kiro-subagents.${agent}`, arguments: { directory: user.workspace, ...input } };
        return (await client.callTool(call, undefined, signal === undefined ? {} : { signal })) as CallToolResult;
      };
      return { client, transport, ask };
    },
    send: ({ headers, ...request }) => fetch(url, { ...request, headers: { ...HEADERS, ...headers } }),
    end,
    async [Symbol.asyncDispose]() {
      await Promise.allSettled(clients.map((client) => client.close()));
      await end();
    },
  };
}

/** The headers that every MCP client sends. */
export const HEADERS = {
  authorization: `Bearer ${TOKEN}`,
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

/** The body of the request that begins a session. */
export const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1.0.0" } },
});
