import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport, StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { FetchLike, Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { withFallback } from "../bounds/with-fallback.ts";
import type { HttpServer } from "../config/mcp-server.ts";
import { createBoundedFetch } from "./bounded-fetch.ts";
import { withLogin, type ServerLogin } from "./with-login.ts";

export type HttpTransportOptions = {
  readonly timeoutMs: number;
  readonly fetch?: FetchLike | undefined;
  /** The tokens of a login; without one, only the entry's headers authenticate */
  readonly login?: ServerLogin | undefined;
};

/** Creates a transport over streamable HTTP. It falls back to the older one with server-sent events if the server has no other. */
export function createHttpTransport(server: HttpServer, { fetch, login, timeoutMs }: HttpTransportOptions): Transport {
  const url = new URL(server.url);
  const bounded = createBoundedFetch({ ...server, fetch, timeoutMs, onTooLarge: (error) => void lose(error) });
  const options = { fetch: login === undefined ? bounded : withLogin(bounded, login, url.origin) };
  const streamable = new StreamableHTTPClientTransport(url, options);
  let inner = streamable as Transport;
  let isClosed = false;

  const transport: Transport = {
    async start() {
      follow(inner);
      await inner.start();
    },
    async send(message, sendOptions) {
      try {
        await inner.send(message, sendOptions);
      } catch (error) {
        if (inner === streamable && "method" in message && message.method === "initialize" && isUnknown(error)) {
          await fallBack();
          return await inner.send(message);
        }
        if (isLost(error)) void lose(error as Error);
        throw error;
      }
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      // A server keeps a session until it is told of the end.
      if (inner === streamable) await withFallback(streamable.terminateSession(), GOODBYE_MS, undefined);
      await inner.close();
    },
    setProtocolVersion: (version) => inner.setProtocolVersion?.(version),
  };

  /** Closes a connection that is useless now, without ending its session. */
  async function lose(error: Error): Promise<void> {
    if (isClosed) return;
    isClosed = true;
    transport.onerror?.(error);
    await inner.close();
  }

  function follow(next: Transport): void {
    next.onmessage = (message) => transport.onmessage?.(message);
    next.onclose = () => transport.onclose?.();
    next.onerror = (error) => transport.onerror?.(error);
  }

  async function fallBack(): Promise<void> {
    const older = new SSEClientTransport(url, options);
    follow(older);
    streamable.onclose = () => undefined;
    await streamable.close();
    inner = older as Transport;
    await older.start();
  }

  return transport;
}

const UNKNOWN: ReadonlySet<number | undefined> = new Set([400, 404, 405]);

/** Tells whether a server refused the request as servers without streamable HTTP do. */
function isUnknown(error: unknown): boolean {
  return error instanceof StreamableHTTPError && UNKNOWN.has(error.code);
}

/** Tells whether the server is gone, or has forgotten the session. */
function isLost(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof StreamableHTTPError && error.code === 404);
}

const GOODBYE_MS = 1000;
