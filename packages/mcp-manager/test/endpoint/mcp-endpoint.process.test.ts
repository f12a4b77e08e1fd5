import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it, vi } from "vitest";
import { serveEndpoint } from "../helpers/serve-endpoint.ts";

const wait = { name: "wait", does: { kind: "wait" as const, ms: 60_000 } };

describe("the endpoint of a server", () => {
  it("offers the tools that are allowed, and calls no others", async () => {
    await using served = await serveEndpoint({ one: { tools: [{ name: "echo" }, { name: "other" }] } }, ["echo"]);
    const client = await served.connect("one");

    const { tools } = await client.listTools();

    expect(tools.map(({ name }) => name)).toEqual(["echo"]);
    expect(await client.callTool({ name: "echo", arguments: { a: 1 } })).toMatchObject({
      content: [{ type: "text", text: '{"a":1}' }],
    });
    await expect(client.callTool({ name: "other" })).rejects.toThrow(
      'The tool "other" of the MCP server "one" may not be called.',
    );
    await expect(client.callTool({ name: "x".repeat(1000) })).rejects.toThrow("may not be called");
    expect(served.calls).toEqual([
      { server: "one", tool: "echo", durationMs: expect.any(Number), outcome: "done" },
      { server: "one", tool: "other", durationMs: expect.any(Number), outcome: "INPUT_INVALID" },
      { server: "one", tool: "x".repeat(128), durationMs: expect.any(Number), outcome: "INPUT_INVALID" },
    ]);
  });

  it("passes on progress, prompts and resources, and says what a tool said without what no reader sees", async () => {
    const tools = [
      { name: "work", does: { kind: "progress" as const, count: 2 } },
      {
        name: "odd",
        inputSchema: { properties: {} },
        does: { kind: "result" as const, result: { content: [{ type: "text", text: "a\u200b\u001b[31mb" }] } },
      },
    ];
    await using served = await serveEndpoint({ one: { tools, documents: true } });
    const client = await served.connect("one");
    const heard: unknown[] = [];

    await client.callTool({ name: "work" }, undefined, { onprogress: ({ message }) => void heard.push(message) });

    expect(heard).toEqual(["step 1", "step 2"]);
    expect((await client.callTool({ name: "odd" })).content).toEqual([{ type: "text", text: "ab" }]);
    expect((await client.listTools()).tools).toHaveLength(2);
    expect((await client.listPrompts()).prompts).toEqual([{ name: "greet" }]);
    expect(await client.getPrompt({ name: "greet", arguments: { who: "you" } })).toMatchObject({
      messages: [{ content: { text: "Greet you." } }],
    });
    expect((await client.readResource({ uri: "mock://note" })).contents).toMatchObject([{ text: "a note" }]);
  });

  it("passes on cancellation, and continues other calls", async () => {
    await using served = await serveEndpoint({ one: { tools: [wait, { name: "echo" }] } });
    const client = await served.connect("one");
    await client.listTools();
    const cancelling = new AbortController();
    const waiting = client.callTool({ name: "wait" }, undefined, { signal: cancelling.signal });
    await client.callTool({ name: "echo" });

    cancelling.abort();
    await expect(waiting).rejects.toThrow("aborted");
    await client.callTool({ name: "echo" });

    expect(served.calls.map(({ outcome, tool }) => `${tool} ${outcome}`)).toContain("wait CANCELLED");
  });

  it("ends the stream of a request that was cancelled, which has no answer", async () => {
    await using served = await serveEndpoint({ one: { tools: [wait] } });
    const url = served.toUrl("one");
    const session = await introduce(url);
    const headers = { ...HEADERS, "mcp-session-id": session };
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify({ ...CALL, id: 7 }) });

    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } };
    expect(await post(url, JSON.stringify(cancelled), session)).toBe(202);

    expect(await response.text()).not.toContain("result");
  });

  it("tells clients that a list changed", async () => {
    const does = { kind: "change" as const, tools: [{ name: "next" }] };
    await using served = await serveEndpoint({ one: { tools: [{ name: "change", does }] } });
    const client = await served.connect("one");
    const told = new Promise((resolve) => client.setNotificationHandler(ToolListChangedNotificationSchema, resolve));

    await client.callTool({ name: "change" });
    await served.heard("list-changed");
    served.endpoint.changed("one", "tools");
    await told;

    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["next"]);
  });

  it("has no tools of a server that does not start, which delays no other", async () => {
    await using served = await serveEndpoint({ dead: { crashAt: "initialize" }, one: { tools: [{ name: "echo" }] } });
    const [dead, one] = await Promise.all([served.connect("dead"), served.connect("one")]);

    expect((await one.listTools()).tools).toHaveLength(1);
    expect((await dead.listTools()).tools).toEqual([]);
    expect(await dead.callTool({ name: "echo" })).toMatchObject({
      isError: true,
      content: [{ text: 'The MCP server "dead" cannot be used: it exited with 3.' }],
    });
  });

  it("is at a path that nobody can guess, each server at its own", async () => {
    await using served = await serveEndpoint({ one: {}, two: {} });
    const other = await serveEndpoint({ one: {} });
    await other[Symbol.asyncDispose]();
    const [, token] = /\/mcp\/([\w-]{32})\/one$/.exec(served.toUrl("one")) ?? [];

    expect(token).toBeDefined();
    expect(other.toUrl("one")).not.toContain(token);
    for (const url of ["/", "/mcp", `/mcp/${"x".repeat(32)}/one`, `/mcp/${token}/three`, `/mcp/${token}/`]) {
      await expect(served.connect("one", new URL(url, served.toUrl("one")).href)).rejects.toThrow("no MCP server");
    }
    const session = await introduce(served.toUrl("one"));
    expect(await post(served.toUrl("two"), LIST, session)).toBe(404);
    expect(await post(served.toUrl("one"), LIST, session)).toBe(200);
  });

  it("answers 64 requests at once, and more when some have their answers", async () => {
    await using served = await serveEndpoint({ one: { tools: [wait] } });
    const url = served.toUrl("one");
    const session = await introduce(url);
    const headers = { ...HEADERS, "mcp-session-id": session };
    const begin = (id: number): Promise<Response> =>
      fetch(url, { method: "POST", headers, body: JSON.stringify({ ...CALL, id }) });
    const waiting = await Promise.all(Array.from({ length: 64 }, (_, id) => begin(id)));

    expect(await post(url, LIST, session)).toBe(503);
    await waiting[0]?.body?.cancel();

    await vi.waitUntil(async () => (await post(url, LIST, session)) === 200);
  });

  it("forgets the client that was used longest ago of more than 64, and refuses a message of more than 4 MiB", async () => {
    await using served = await serveEndpoint({ one: { tools: [{ name: "echo" }] } });
    const url = served.toUrl("one");
    const first = await introduce(url);
    const second = await introduce(url);
    for (let count = 3; count <= 64; count += 1) await introduce(url);

    expect(await post(url, LIST, first)).toBe(200);
    const last = await introduce(url);

    expect(await post(url, LIST, second)).toBe(404);
    expect(await post(url, LIST, first)).toBe(200);
    expect(await post(url, LIST, last)).toBe(200);
    expect(await post(url, " ".repeat(4 * 2 ** 20 + 1), last)).toBe(413);
    expect(await post(url, "", last)).toBe(400);
  });
});

const CALL = { jsonrpc: "2.0", method: "tools/call", params: { name: "wait" } };
const LIST = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/list" });

/** Initializes a client's session, and returns its id. */
async function introduce(url: string): Promise<string> {
  const response = await fetch(url, { method: "POST", headers: HEADERS, body: INITIALIZE });
  await response.text();
  return response.headers.get("mcp-session-id") ?? "";
}

async function post(url: string, body: string, session: string): Promise<number> {
  const response = await fetch(url, { method: "POST", headers: { ...HEADERS, "mcp-session-id": session }, body });
  await response.text();
  return response.status;
}

const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } },
});
