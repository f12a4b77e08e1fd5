import { createServer } from "node:http";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { McpCall } from "@budgie/core/runs";
import { serveOnLoopback, type MockOptions } from "@budgie/testkit";
import { createMcpEndpoint } from "../../src/index.ts";
import { manage, toProcess } from "./servers.ts";

/** Serves an endpoint for mock servers, and connects the SDK's clients to it. */
export async function serveEndpoint(mocks: Readonly<Record<string, MockOptions>>, tools?: readonly string[]) {
  const calls: McpCall[] = [];
  const servers = Object.entries(mocks).map(([name, options]) => ({ server: toProcess(name, options), tools }));
  const { heard, manager } = manage({ servers });
  const endpoint = createMcpEndpoint({
    manager,
    servers: Object.keys(mocks),
    version: "1",
    onCall: (call) => void calls.push(call),
  });
  const http = createServer(endpoint.answer);
  const { [Symbol.asyncDispose]: close, port } = await serveOnLoopback(http);
  const toUrl = (server: string): string => `http://127.0.0.1:${port}${endpoint.pathOf(server)}`;
  const clients: Client[] = [];
  return {
    calls,
    endpoint,
    heard,
    toUrl,
    async connect(server: string, url = toUrl(server)): Promise<Client> {
      const client = new Client({ name: "agent", version: "1" });
      await client.connect(new StreamableHTTPClientTransport(new URL(url)) as Transport);
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()));
      await endpoint[Symbol.asyncDispose]();
      await close();
      await manager[Symbol.asyncDispose]();
    },
  };
}
