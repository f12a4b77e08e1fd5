import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ChangedList } from "../bounds/bounded-transport.ts";
import { LIMITS } from "../bounds/limits.ts";
import type { AnswersOptions } from "./endpoint-answers.ts";
import { openClient, type Client } from "./endpoint-client.ts";

/** A manager's servers over streamable HTTP, for one agent that cannot reach them itself. */
export type McpEndpoint = AsyncDisposable & {
  /** Answers a request. Refuses all paths but those of the servers, which nobody can guess. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void;
  readonly pathOf: (server: string) => string;
  /** Tells the clients of a server that a list of it changed. */
  readonly changed: (server: string, list: ChangedList) => void;
};

export type McpEndpointOptions = AnswersOptions & {
  /** The names of the servers to offer */
  readonly servers: readonly string[];
  /** The version reported to clients */
  readonly version: string;
};

// An agent program opens one connection per server; a hostile one opens as many as it likes.
const MOST_CLIENTS = 64;

/** Creates the endpoint of a manager's servers. It offers what the manager allows, and sends the agent no requests. */
export function createMcpEndpoint({ servers, ...options }: McpEndpointOptions): McpEndpoint {
  const token = randomBytes(24).toString("base64url");
  const pathOf = (server: string): string => `/mcp/${token}/${encodeURIComponent(server)}`;
  const byPath = new Map(servers.map((server) => [pathOf(server), server]));
  // The least recently used first
  const clients = new Map<string, Client>();
  // POSTs in progress, each of which may be large.
  let messages = 0;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const server = byPath.get((request.url ?? "").replace(/[?#].*/s, ""));
    if (server === undefined) return refuse(response, 404, "There is no MCP server at this address.");
    if (request.method === "POST") {
      if (messages >= LIMITS.callsAtOnce) return refuse(response, 503, "Too many requests at once. Wait for some.");
      messages += 1;
      response.once("close", () => (messages -= 1));
    }
    const id = request.headers["mcp-session-id"];
    if (id === undefined) return begin(server, request, response);
    const client = clients.get(String(id));
    if (client === undefined || client.server !== server) return refuse(response, 404, "There is no such MCP session.");
    clients.delete(client.id);
    clients.set(client.id, client);
    await client.handle(request, response);
  }

  async function begin(server: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const client = await openClient(server, options);
    client.onEnd(() => clients.delete(client.id));
    clients.set(client.id, client);
    const [oldest] = clients.values();
    if (clients.size > MOST_CLIENTS) await oldest?.close();
    await client.handle(request, response);
    if (!client.isBegun()) await client.close();
  }

  return {
    answer: (request, response) => void answer(request, response).catch(() => response.destroy()),
    pathOf,
    changed(server, list) {
      for (const client of clients.values()) if (client.server === server) client.tellChanged(list);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...clients.values()].map((client) => client.close()));
    },
  };
}

function refuse(response: ServerResponse, status: 404 | 503, message: string): void {
  const body = JSON.stringify({ jsonrpc: "2.0", error: { code: -32_001, message }, id: null });
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}
