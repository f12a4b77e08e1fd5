import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createByteBudget, createRequestIntake, readBody, type ByteBudget } from "@budgie/core/bounds";
import type { ChangedList } from "../bounds/with-bounds.ts";
import { LIMITS } from "../bounds/limits.ts";
import type { AnswersOptions } from "./answers.ts";
import { openClient, type Asked, type Client } from "./client.ts";

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
  /** The bytes of the pending requests of all endpoints together; default those of this one */
  readonly allPending?: ByteBudget | undefined;
};

// An agent program opens one connection per server; a hostile one opens as many as it likes.
const MOST_CLIENTS = 64;

/** Creates the endpoint of a manager's servers. It offers what the manager allows, and sends the agent no requests. */
export function createMcpEndpoint({ allPending, servers, ...options }: McpEndpointOptions): McpEndpoint {
  const token = randomBytes(24).toString("base64url");
  const pathOf = (server: string): string => `/mcp/${token}/${encodeURIComponent(server)}`;
  const byPath = new Map(servers.map((server) => [pathOf(server), server]));
  // The least recently used first
  const clients = new Map<string, Client>();
  // POSTs in progress, each of which may be large.
  let messages = 0;
  const pending = createByteBudget(LIMITS.pendingBytes, allPending);
  const open = new Set<ServerResponse>();
  const isFull = (): boolean => [...open].reduce((sum, one) => sum + one.writableLength, 0) > LIMITS.pendingBytes;
  const parse = createRequestIntake();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const server = byPath.get((request.url ?? "").replace(/[?#].*/s, ""));
    if (server === undefined) return refuse(response, NO_SERVER);
    open.add(response);
    response.once("close", () => open.delete(response));
    const read = request.method === "POST" ? await readMessage(request, response) : { body: undefined };
    if ("refusal" in read) return refuse(response, read.refusal);
    const asked = { request, response, body: read.body };
    const id = request.headers["mcp-session-id"];
    if (id === undefined) return begin(server, asked);
    const client = clients.get(String(id));
    if (client === undefined || client.server !== server) return refuse(response, NO_SESSION);
    clients.delete(client.id);
    clients.set(client.id, client);
    await client.handle(asked);
  }

  async function readMessage(request: IncomingMessage, response: ServerResponse): Promise<Read> {
    if (messages >= LIMITS.callsAtOnce) return { refusal: TOO_MANY };
    messages += 1;
    response.once("close", () => (messages -= 1));
    const bytes = await readBody(request, { bytes: LIMITS.messageBytes, pending });
    if (!Buffer.isBuffer(bytes)) return { refusal: bytes === "bytes" ? TOO_LARGE : TOO_MUCH };
    if (response.closed) pending.giveBack(bytes.length);
    else response.once("close", () => pending.giveBack(bytes.length));
    try {
      return { body: await parse(bytes) };
    } catch (error) {
      return { refusal: error instanceof RangeError ? tooComplex(error) : NO_JSON };
    }
  }

  async function begin(server: string, asked: Asked): Promise<void> {
    const client = await openClient(server, { ...options, isFull });
    client.onEnd(() => clients.delete(client.id));
    clients.set(client.id, client);
    const [oldest] = clients.values();
    if (clients.size > MOST_CLIENTS) await oldest?.close();
    await client.handle(asked);
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
      pending.end();
    },
  };
}

type Read = { readonly body: unknown } | { readonly refusal: Refusal };

type Refusal = { readonly status: number; readonly message: string; readonly code?: number };

const NO_SERVER: Refusal = { status: 404, message: "There is no MCP server at this address." };
const NO_SESSION: Refusal = { status: 404, message: "There is no such MCP session." };
const TOO_MANY: Refusal = { status: 503, message: "Too many requests at once. Wait for some." };
const TOO_MUCH: Refusal = { status: 503, message: "The requests at once are too large together. Wait for some." };
const TOO_LARGE: Refusal = { status: 413, message: `A request must not be larger than ${LIMITS.messageBytes} bytes.` };
const NO_JSON: Refusal = { status: 400, code: -32_700, message: "Parse error: Invalid JSON" };

function tooComplex({ message }: RangeError): Refusal {
  return { status: 413, message: `A request must not have ${message}.` };
}

function refuse(response: ServerResponse, { code = -32_001, message, status }: Refusal): void {
  const body = JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null });
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}
