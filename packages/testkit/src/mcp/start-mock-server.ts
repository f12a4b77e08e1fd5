import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import type { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { sendJson } from "../send-json.ts";
import { serveOnLoopback } from "../serve-on-loopback.ts";
import type { MockOptions } from "./mock-options.ts";

export type MockHttpOptions = MockOptions & {
  /** Speaks only the older transport, HTTP with SSE */
  readonly older?: boolean;
  /** Requires tokens of this authorization server */
  readonly authorization?: {
    readonly url: string;
    readonly accepts: (header: string | undefined) => boolean | Promise<boolean>;
  };
};

export type MockServer = AsyncDisposable & {
  readonly url: string;
  /** The HTTP method and the headers of each request */
  readonly requests: readonly { readonly method: string; readonly headers: IncomingMessage["headers"] }[];
  /** The number of open sessions */
  readonly sessions: () => number;
  /** Forgets all sessions, like a restarted server. */
  readonly forget: () => void;
};

/** Starts a mock MCP server over HTTP on the loopback interface. */
export async function startMockServer(options: MockHttpOptions = {}): Promise<MockServer> {
  // Imported late, since most tests need no MCP server.
  const { SSEServerTransport } = await import("@modelcontextprotocol/sdk/server/sse.js");
  const { StreamableHTTPServerTransport } = await import("@modelcontextprotocol/sdk/server/streamableHttp.js");
  const { isInitializeRequest } = await import("@modelcontextprotocol/sdk/types.js");
  const { serveMock } = await import("./serve-mock.ts");
  const { authorization, older = false } = options;
  const streamable = new Map<string, StreamableHTTPServerTransport>();
  const events = new Map<string, SSEServerTransport>();
  const requests: MockServer["requests"][number][] = [];
  let url = "";

  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  const host = { crash: () => server.closeAllConnections(), env: process.env };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers, method = "" } = request;
    const path = new URL(request.url ?? "/", url).pathname;
    if (path.startsWith("/.well-known/oauth-protected-resource")) {
      if (authorization === undefined) return void response.writeHead(404).end();
      return sendJson(response, { resource: `${url}/mcp`, authorization_servers: [authorization.url] });
    }
    requests.push({ method, headers });
    if (authorization !== undefined && !(await authorization.accepts(headers.authorization))) {
      const challenge = `Bearer resource_metadata="${url}/.well-known/oauth-protected-resource/mcp"`;
      return void response.writeHead(401, { "www-authenticate": challenge }).end();
    }
    await (older ? answerOlder(request, response) : answerStreamable(request, response));
  }

  async function answerStreamable(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sent = await text(request);
    // Kiro's first request has no body.
    if (request.method === "POST" && sent === "") return void response.writeHead(400).end();
    const body = request.method === "POST" ? (JSON.parse(sent) as unknown) : undefined;
    const id = request.headers["mcp-session-id"];
    const known = typeof id === "string" ? streamable.get(id) : undefined;
    if (known !== undefined) return known.handleRequest(request, response, body);
    if (!isInitializeRequest(body)) return void response.writeHead(404).end();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => void streamable.set(session, transport),
      onsessionclosed: (session) => void streamable.delete(session),
    });
    await serveMock(options, transport as Transport, host);
    await transport.handleRequest(request, response, body);
  }

  async function answerOlder(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = new URL(request.url ?? "/", url).searchParams.get("sessionId") ?? "";
    const known = events.get(session);
    if (request.method === "POST" && known !== undefined) return known.handlePostMessage(request, response);
    if (request.method !== "GET") return void response.writeHead(405).end();
    const transport = new SSEServerTransport("/messages", response);
    events.set(transport.sessionId, transport);
    response.on("close", () => events.delete(transport.sessionId));
    await serveMock(options, transport, host);
  }

  const { [Symbol.asyncDispose]: dispose, port } = await serveOnLoopback(server);
  url = `http://127.0.0.1:${port}`;
  return {
    url: `${url}/mcp`,
    requests,
    sessions: () => streamable.size + events.size,
    forget: () => streamable.clear(),
    [Symbol.asyncDispose]: dispose,
  };
}
