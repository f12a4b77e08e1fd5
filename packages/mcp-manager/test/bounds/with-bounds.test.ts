import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { withBounds } from "../../src/bounds/with-bounds.ts";
import { LIMITS } from "../../src/bounds/limits.ts";

/** Returns which of a server's messages reach the SDK, and which are reported beside it. */
async function receive(messages: readonly unknown[], sent: readonly JSONRPCMessage[] = []) {
  const [server, inner] = InMemoryTransport.createLinkedPair();
  const logged: string[] = [];
  const changed: string[] = [];
  const seen: JSONRPCMessage[] = [];
  const outer = withBounds(inner, { log: (line) => logged.push(line), changed: (list) => changed.push(list) });
  outer.onmessage = (message) => void seen.push(message);
  await server.start();
  await outer.start();
  for (const message of sent) await outer.send(message);
  for (const message of messages) await server.send(message as JSONRPCMessage);
  await new Promise((resolve) => setImmediate(resolve));
  return { seen, logged, changed };
}

describe("the messages of a server", () => {
  it.each([
    [null],
    ["text"],
    [[1]],
    [{}],
    [{ id: 1 }],
    [{ id: {}, result: {} }],
    [{ id: 1, result: 5 }],
    [{ method: 5 }],
  ])("are ignored if they are not JSON-RPC: %j", async (message) => {
    const { logged, seen } = await receive([message]);

    expect(seen).toEqual([]);
    expect(logged).toEqual(["It sent something that is not a JSON-RPC message; ignored."]);
  });

  it("are answers as they are, and errors with words of one line", async () => {
    const { seen } = await receive([
      { id: 1, result: { any: [1] }, extra: 1 },
      { id: 2, error: { code: -1, message: "a\u001b[31m\nb\u202e", data: { big: 1 } } },
      { id: 3, error: { code: "x" } },
    ]);

    expect(seen).toEqual([
      { jsonrpc: "2.0", id: 1, result: { any: [1] } },
      { jsonrpc: "2.0", id: 2, error: { code: -1, message: "a b" } },
      { jsonrpc: "2.0", id: 3, error: { code: -32_603, message: "it gave no reason" } },
    ]);
  });

  it("are its introduction, of which only the known fields are passed on", async () => {
    const hostile = {
      protocolVersion: "2025-06-18",
      capabilities: { tools: { listChanged: "yes", x: [] }, tasks: { requests: 5 }, prompts: 5 },
      serverInfo: { name: "a\nb", version: 5, icons: Array.from({ length: 1000 }, () => 5) },
      instructions: `hello\u001b[2J${"x".repeat(20_000)}`,
    };
    const initialize: JSONRPCMessage = { jsonrpc: "2.0", id: 0, method: "initialize" };
    const { seen } = await receive([{ id: 0, result: hostile }], [initialize]);

    expect(seen).toMatchObject([{ result: { instructions: expect.stringMatching(/^hellox{9000,9999}$/) } }]);
    expect(seen).toEqual([
      {
        jsonrpc: "2.0",
        id: 0,
        result: {
          protocolVersion: "2025-06-18",
          capabilities: { tools: { listChanged: false } },
          serverInfo: { name: "a b", version: "" },
          instructions: expect.any(String),
        },
      },
    ]);
  });

  it("are notes for the log, changes of lists, and nothing else that is no progress", async () => {
    const { changed, logged, seen } = await receive([
      { method: "notifications/message", params: { level: "warning", data: "\u001b[31mhot\nline" } },
      { method: "notifications/message", params: { data: { message: "inner" } } },
      { method: "notifications/tools/list_changed" },
      { method: "notifications/resources/list_changed", params: [] },
      { method: "notifications/tasks/status", params: { x: 1 } },
      { method: "notifications/progress", params: { progress: "1", progressToken: 1 } },
      { method: "x".repeat(200) },
    ]);

    expect(seen).toEqual([]);
    expect(changed).toEqual(["tools", "resources"]);
    expect(logged).toEqual([
      "warning: hot line",
      "info: inner",
      "It sent something that is not a JSON-RPC message; ignored.",
    ]);
  });

  it("are as much progress as the limit allows, in clean words", async () => {
    const progress = { progress: 1, total: 2, progressToken: 7, message: "one\u0007\ntwo", x: 1 };
    const flood = Array.from({ length: 500 }, () => ({ method: "notifications/progress", params: progress }));
    const { seen } = await receive(flood);

    expect(seen[0]).toEqual({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progress: 1, total: 2, progressToken: 7, message: "one two" },
    });
    expect(seen.length).toBeGreaterThanOrEqual(LIMITS.progress.burst);
    expect(seen.length).toBeLessThan(500);
  });

  it("are as many requests as the limit allows, without what they say", async () => {
    const flood = Array.from({ length: 500 }, (_, id) => ({ id, method: "roots/list", params: { x: 1 } }));
    const { logged, seen } = await receive(flood);

    expect(seen[0]).toEqual({ jsonrpc: "2.0", id: 0, method: "roots/list" });
    expect(seen.length).toBeLessThan(500);
    expect(logged[0]).toBe("It asked for roots/list; refused.");
  });
});
