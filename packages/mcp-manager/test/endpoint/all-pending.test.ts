import { createServer } from "node:http";
import { createByteBudget } from "@budgie/core/bounds";
import { serveOnLoopback } from "@budgie/testkit";
import { expect, it } from "vitest";
import { createMcpEndpoint } from "../../src/endpoint/mcp-endpoint.ts";

it("The pending requests of all agents have a limit together, and give their bytes back", async () => {
  const never = (): Promise<never> => new Promise(() => undefined);
  const manager = { tools: never, request: never, call: never };
  const allPending = createByteBudget(10_000);
  const [one, other] = [1, 2].map(() => createMcpEndpoint({ manager, servers: ["one"], version: "1", allPending }));
  if (one === undefined || other === undefined) throw new Error("There are no endpoints.");
  await using place = await serveOnLoopback(
    createServer((asked, response) => (asked.url === one.pathOf("one") ? one : other).answer(asked, response)),
  );
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } };
  const begin = async ({ pathOf }: typeof one) => {
    const url = `http://127.0.0.1:${place.port}${pathOf("one")}`;
    const initialize = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params });
    const begun = await fetch(url, { method: "POST", headers, body: initialize });
    await begun.text();
    const inSession = { ...headers, "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
    const call = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "x", arguments: { given: "x".repeat(7000) } },
    };
    return () => fetch(url, { method: "POST", headers: inSession, body: JSON.stringify(call) });
  };
  const [callOne, callOther] = [await begin(one), await begin(other)];

  const pending = await callOne();
  const refused = await callOther();
  await one[Symbol.asyncDispose]();
  const taken = await callOther();

  expect([pending.status, refused.status, taken.status]).toEqual([200, 503, 200]);
  await other[Symbol.asyncDispose]();
});
