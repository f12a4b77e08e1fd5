import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** An MCP server over HTTP that answers only requests with its secret. */
export type AddressServer = AsyncDisposable & {
  /** Returns a new address. */
  readonly urlOf: (address: Address) => string;
};

/** The header that requests to an address need, and the prefix of its tool's answer. */
type Address = { readonly header: string; readonly value: string; readonly evidence: string };

/** Starts the server on this machine's loopback. Its one tool is `open`. */
export async function startAddressServer(): Promise<AddressServer> {
  const addresses = new Map<string, Address>();
  const server = createServer((request, response) => {
    const { evidence, header, value } = addresses.get(request.url ?? "") ?? {};
    if (evidence === undefined || request.headers[header ?? ""] !== value) return response.writeHead(401).end();
    if (request.method !== "POST") return response.writeHead(405).end();
    answer(request, evidence)
      .then((body) => {
        if (body === undefined) return response.writeHead(202).end();
        return response.writeHead(200, { "content-type": "application/json" }).end(body);
      })
      .catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    urlOf(address) {
      const path = `/${addresses.size}`;
      addresses.set(path, address);
      return `http://127.0.0.1:${port}${path}`;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

type Message = {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly protocolVersion?: string };
};

/** Answers one message; `undefined` for a notification. */
async function answer(request: IncomingMessage, evidence: string): Promise<string | undefined> {
  const { id, method, params } = JSON.parse(await text(request)) as Message;
  if (id === undefined) return undefined;
  const results: Readonly<Record<string, object>> = {
    initialize: {
      protocolVersion: params?.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "address", version: "1" },
    },
    "tools/list": { tools: [{ name: "open", description: "", inputSchema: { type: "object" } }] },
    "tools/call": { content: [{ type: "text", text: `${evidence}-open` }] },
  };
  return JSON.stringify({ jsonrpc: "2.0", id, result: results[method ?? ""] ?? {} });
}
