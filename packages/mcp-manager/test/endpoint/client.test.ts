import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { serveOnLoopback } from "@budgie/testkit";
import { expect, it, vi } from "vitest";
import { openClient } from "../../src/endpoint/client.ts";

it("A client's request that was cancelled is forgotten, the id that it chose with it", async () => {
  const never = new Promise<never>(() => undefined);
  const manager = { tools: () => never, call: () => never, request: () => never };
  const handled = vi.spyOn(StreamableHTTPServerTransport.prototype, "handleRequest");
  const client = await openClient("one", { manager, version: "1" });
  const http = createServer((request, response) => {
    void json(request).then((body) => client.handle({ request, response, body }));
  });
  await using place = await serveOnLoopback(http);
  const post = (body: object): Promise<Response> =>
    fetch(`http://127.0.0.1:${place.port}/`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-session-id": client.id,
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...body }),
    });
  const clientInfo = { name: "x", version: "1" };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  await (await post({ id: 1, method: "initialize", params })).text();
  const asked = await post({ id: "long", method: "tools/call", params: { name: "wait" } });
  // The SDK does not expose them.
  const inner = Reflect.get(handled.mock.contexts[0] as object, "_webStandardTransport") as object;
  const streams = Reflect.get(inner, "_requestToStreamMapping") as ReadonlyMap<string, string>;
  const before = [...streams.keys()];
  await post({ method: "notifications/cancelled", params: { requestId: "long" } });

  expect(await asked.text()).toBe("");
  expect([before, [...streams.keys()]]).toEqual([["long"], []]);
  await client.close();
});
