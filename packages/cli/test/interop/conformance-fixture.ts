import type { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { isJSONRPCRequest, type RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { ClientTransport } from "../../../mcp-server/src/mcp/connection/client-transport.ts";
import { createConnection, type Connection } from "../../../mcp-server/src/mcp/connection/connection.ts";
import { createHttpServer } from "../../../mcp-server/src/mcp/http/http-server.ts";
import { TOKEN } from "../../../mcp-server/test/mcp/http/start-http-budgie.ts";
import { createConformanceTools } from "./conformance-tools.ts";

/** A listening server. */
export type ConformanceFixture = AsyncDisposable & { readonly url: string };

/** Starts budgie's own HTTP server and connections, with the tools that the conformance suite requires instead of agents. */
export async function startConformanceFixture(): Promise<ConformanceFixture> {
  const told: string[] = [];
  const report = (line: string): void => void told.push(line);
  const shared = { version: "1.0.0", instructions: "", report };
  const connect = (transport: ClientTransport, onClientClosed: () => void): Connection => {
    const hangUp = toHangUp(transport);
    const rest = { heartbeatMs: 60_000, onDelivery: () => undefined, onClientClosed };
    return createConnection({ ...shared, ...rest, transport, createTools: () => createConformanceTools({ hangUp }) });
  };
  const host = { host: "127.0.0.1", port: 0, allowedHosts: [], allowedOrigins: [] };
  const server = createHttpServer({ ...shared, ...host, connect, token: TOKEN, sessionTtlMs: 60_000 });
  await server.start();
  return { url: /http:\S+/.exec(told.join("\n"))?.[0] ?? "", [Symbol.asyncDispose]: server.close };
}

type Closable = ClientTransport & Partial<Pick<StreamableHTTPServerTransport, "closeSSEStream">>;

/** Returns a function that closes the connection of the latest call, like a broken network. */
function toHangUp(transport: Closable): () => void {
  const { onmessage } = transport;
  let latest: RequestId | undefined;
  transport.onmessage = (message, extra) => {
    if (isJSONRPCRequest(message)) latest = message.id;
    onmessage?.(message, extra);
  };
  return () => {
    if (latest !== undefined) transport.closeSSEStream?.(latest);
  };
}
