import { startAuthorizationServer, startMockServer, startScriptedServer } from "@budgie/testkit";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../src/bounds/limits.ts";
import { hashTools } from "../src/server/list-tools.ts";
import { manage, toAddress, toText } from "./helpers/servers.ts";

const TOOLS = [{ name: "echo" }, { name: "work", does: { kind: "progress" as const, count: 2 } }];

function call(name: string, given: Readonly<Record<string, unknown>> = {}) {
  return { name, arguments: given };
}

describe("a server at an address", () => {
  it.each([
    ["streamable HTTP", false],
    ["server-sent events alone, as older ones do", true],
  ])("is used if it speaks %s", async (_, older) => {
    await using server = await startMockServer({ tools: TOOLS, older });
    const { manager } = manage({ servers: [toAddress("a", server.url, { headers: { "X-Key": "k" } })] });
    await using _manager = manager;
    const progress: unknown[] = [];

    expect((await manager.tools("a")).map(({ name }) => name)).toEqual(["echo", "work"]);
    expect(toText(await manager.call("a", call("echo", { a: 1 })))).toBe('{"a":1}');
    await manager.call("a", call("work"), { onProgress: (step) => progress.push(step.progress) });
    expect(progress).toEqual([1, 2]);
    expect(server.requests.map(({ headers }) => headers["x-key"])).toEqual(server.requests.map(() => "k"));
  });

  it("hears that a session ends", async () => {
    await using server = await startMockServer({ tools: TOOLS });
    const { manager } = manage({ servers: [toAddress("a", server.url)] });
    await manager.start();
    const during = server.sessions();
    await manager[Symbol.asyncDispose]();

    expect([during, server.sessions()]).toEqual([1, 0]);
  });

  it("is connected to once more if it forgot its sessions", async () => {
    await using server = await startMockServer({ tools: TOOLS });
    const { events, manager } = manage({ servers: [toAddress("a", server.url)] });
    await using _ = manager;
    await manager.start();
    server.forget();

    await expect(manager.call("a", call("echo"))).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
    expect(toText(await manager.call("a", call("echo")))).toBe("{}");
    expect(events.map(({ kind }) => kind)).toEqual(["initializing", "ready", "restarting", "initializing", "ready"]);
  });

  it("is reported to have tools that differ from the approved ones", async () => {
    await using server = await startMockServer({ tools: TOOLS });
    const one = toAddress("a", server.url);
    const { manager } = manage({ servers: [one] });
    await using _manager = manager;
    const approved = hashTools(await manager.tools("a"));
    const servers = [
      { server: one, approved },
      { server: { ...one, name: "b" }, approved, tools: ["echo"] },
    ];
    const { manager: other } = manage({ servers });
    await using _other = other;
    const before = other.list().map(({ toolsChanged }) => toolsChanged);
    await other.start();

    expect(before).toEqual([undefined, undefined]);
    expect(other.list().map(({ toolsChanged }) => toolsChanged)).toEqual([undefined, true]);
  });

  it("is in an error if nothing answers there", async () => {
    const server = await startMockServer();
    await server[Symbol.asyncDispose]();
    const { manager } = manage({ servers: [toAddress("a", server.url)] });
    await using _ = manager;
    await manager.start();

    expect(manager.list()).toMatchObject([{ state: "error", error: "it cannot be reached (ECONNREFUSED)" }]);
  });

  it("needs a login if it says so, and is not asked for tokens", async () => {
    await using authorization = await startAuthorizationServer();
    await using server = await startMockServer({ authorization });
    const { events, manager } = manage({ servers: [toAddress("a", server.url)] });
    await using _ = manager;
    await manager.start();

    expect(manager.list()).toMatchObject([{ state: "needs-auth", error: undefined }]);
    expect(events.at(-1)).toEqual({ kind: "needs-auth", server: "a" });
    await expect(manager.call("a", call("echo"))).rejects.toMatchObject({ code: "LOGIN_REQUIRED" });
    expect(authorization.requests).toEqual([]);
  });

  it.each([301, 307, 308])("is not followed to another place by the status %i", async (status) => {
    await using other = await startScriptedServer((_, response) => void response.writeHead(500).end());
    await using server = await startScriptedServer((_, response) => {
      response.writeHead(status, { location: other.url }).end();
    });
    const { manager } = manage({ servers: [toAddress("a", server.url, { headers: { "X-Key": "secret" } })] });
    await using _ = manager;
    await manager.start();

    expect(manager.list()).toMatchObject([{ state: "error" }]);
    expect(other.calls).toEqual([]);
  });

  it.each([
    ["an answer", "application/json", '{"jsonrpc":"2.0","id":0,"result":{"x":"'],
    ["an event", "text/event-stream", 'data: {"jsonrpc":"2.0","id":0,"result":{"x":"'],
  ])("is read no further than %s of the largest size", async (_, type, start) => {
    let written = 0;
    await using server = await startScriptedServer((_call, response) => {
      response.writeHead(200, { "content-type": type }).write(start);
      const more = (): void => {
        written += 65_536;
        if (!response.destroyed && written < 100 * LIMITS.messageBytes) response.write("x".repeat(65_536), more);
      };
      more();
    });
    const { manager } = manage({ servers: [toAddress("a", server.url)] });
    await using _manager = manager;
    await manager.start();

    expect(manager.list()).toMatchObject([{ state: "error" }]);
    expect(written).toBeLessThan(10 * LIMITS.messageBytes);
  });

  it("is not asked again and again for a stream that it ends each time", async () => {
    const asked: number[] = [];
    await using server = await startScriptedServer(({ method }, response) => {
      if (method === undefined) {
        asked.push(performance.now());
        return void response.writeHead(200, { "content-type": "text/event-stream" }).end("retry: 0\nid: 1\ndata:\n\n");
      }
      const result =
        method === "initialize"
          ? { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } }
          : { tools: [{ name: "echo" }] };
      if (method.startsWith("notifications/")) return void response.writeHead(202).end();
      const id = method === "initialize" ? 0 : 1;
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
    const { manager } = manage({ servers: [toAddress("a", server.url)] });
    await using _ = manager;
    await manager.tools("a");
    const { burst, perSecond } = LIMITS.streams;
    await expect.poll(() => asked.length).toBeGreaterThan(burst);
    const waitedMs = Number(asked[burst]) - Number(asked[0]);

    // Half of the time in which the rate grants one more request.
    expect(waitedMs).toBeGreaterThan(1000 / perSecond / 2);
  });
});
