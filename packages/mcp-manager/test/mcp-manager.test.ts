import { describe, expect, it, onTestFinished, vi } from "vitest";
import { LIMITS } from "../src/bounds/limits.ts";
import { hashTools } from "../src/server/list-tools.ts";
import { createFakeServer } from "./helpers/fake-server.ts";
import { manage, toAddress } from "./helpers/servers.ts";

const HOUR_MS = 3_600_000;
const ECHO = [{ name: "echo", description: "", inputSchema: { type: "object" } }];

it("A server that crashed has its connection closed, which may fail, and is started again", async () => {
  const fake = createFakeServer();
  const { heard, manager } = manage({ servers: [toAddress("a", "http://a.test")], connect: fake.connect });
  await manager.start();
  fake.crash();
  await heard("restarting");
  await manager.tools("a");

  expect([fake.connections(), fake.closed]).toEqual([2, 1]);
});

it("A server that crashed twice has failed at once, however long its connection takes to close", async () => {
  const fake = createFakeServer();
  fake.closesForever = true;
  const { heard, manager } = manage({ servers: [toAddress("a", "http://a.test")], connect: fake.connect });
  await manager.start();
  fake.crash();
  await heard("restarting");
  await manager.tools("a");
  fake.crash();
  await new Promise(setImmediate);

  expect(manager.list()).toMatchObject([{ state: "error" }]);
});

it("Changes of each list are told once a second, however many a server tells", async () => {
  const fake = createFakeServer();
  const { events, manager } = manage({ servers: [toAddress("a", "http://a.test")], connect: fake.connect });
  await manager.start();
  for (const list of ["prompts", "prompts", "resources", "prompts", "resources", "tools"])
    fake.say({ method: `notifications/${list}/list_changed` });
  await vi.waitUntil(() => events.some((event) => event.kind === "list-changed" && event.list === "tools"), 20_000);

  expect(events.slice(2).map((event) => "list" in event && event.list)).toEqual(["prompts", "resources", "tools"]);
});

it("A changed definition of a tool is reported, even after the tool was missing or the server crashed", async () => {
  const fake = createFakeServer();
  const describe = (description: string) => [{ name: "echo", description, inputSchema: { type: "object" } }];
  fake.tools = describe("one");
  const server = toAddress("a", "http://a.test");
  const servers = [{ server, approved: hashTools(describe("one") as never) }];
  const { events, manager } = manage({ servers, connect: fake.connect });
  await manager.start();
  for (const [index, tools] of [[], describe("two")].entries()) {
    fake.tools = tools;
    fake.say({ method: "notifications/tools/list_changed" });
    await vi.waitUntil(() => events.filter(({ kind }) => kind === "list-changed").length > index, 20_000);
  }
  fake.tools = describe("three");
  fake.crash();
  await vi.waitUntil(() => events.filter(({ kind }) => kind === "ready").length > 1, 20_000);

  const told = events.map((event) => (event.kind === "tools-changed" ? event.tools.join(" ") : event.kind));
  expect(told).toEqual([
    "initializing",
    "ready",
    "list-changed",
    "",
    "list-changed",
    "",
    "echo",
    "restarting",
    "initializing",
    "ready",
    "",
    "echo",
  ]);
});

it("Requests that have no answer yet are as few as calls may be, together with them", async () => {
  const fake = createFakeServer();
  fake.tools = ECHO;
  const { manager } = manage({ servers: [toAddress("a", "http://a.test")], connect: fake.connect });
  const ask = () => manager.request("a", { method: "resources/read", params: { uri: "mock://note" } });
  const stop = new AbortController();
  const pending = [
    manager.call("a", { name: "echo", arguments: {} }, { signal: stop.signal }),
    ...Array.from({ length: LIMITS.callsAtOnce - 1 }, ask),
  ].map((request) => request.catch(() => undefined));
  await expect(ask()).rejects.toMatchObject({ code: "QUEUE_FULL" });
  stop.abort();
  await pending[0];
  const last = ask().catch((error: unknown) => error);
  await Promise.allSettled([manager[Symbol.asyncDispose]()]);
  await Promise.all(pending);

  expect(await last).not.toMatchObject({ code: "QUEUE_FULL" });
});

it.each([
  ["ends after an hour", 60_000, "TIMED_OUT"],
  ["goes on for the time of its server's entry if that is longer", 2 * HOUR_MS, "done"],
])("A call with progress %s", async (_, timeoutMs, outcome) => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const fake = createFakeServer(({ id, method }) => {
    if (method !== "tools/call") return;
    vi.setSystemTime(Date.now() + HOUR_MS);
    fake.say({ method: "notifications/progress", params: { progress: 1, progressToken: id } });
    const result = { content: [{ type: "text", text: "done" }] };
    setImmediate(() => setImmediate(() => fake.say({ id, result })));
  });
  fake.tools = ECHO;
  const servers = [toAddress("a", "http://a.test", { timeoutMs })];
  const { manager } = manage({ servers, connect: fake.connect });
  const called = manager.call("a", { name: "echo", arguments: {} });
  const found = await called.then(
    () => "done",
    (error: unknown) => error,
  );

  if (outcome === "done") expect(found).toBe("done");
  else expect(found).toMatchObject({ code: outcome, message: expect.stringContaining("within an hour") as string });
});

describe("a server that offers one tool", () => {
  const server = toAddress("a", "http://a.test", { disabledTools: ["rm"] });

  it("is asked for no tool that it does not list, although its entry switches off only others", async () => {
    const heard: string[] = [];
    const fake = createFakeServer(({ id, method }) => {
      if (id !== undefined) heard.push(method);
      fake.say({ id, result: { content: [] } });
    });
    fake.tools = ECHO;
    const { manager } = manage({ servers: [server], connect: fake.connect });

    await expect(manager.call("a", { name: "secret", arguments: {} })).rejects.toMatchObject({
      code: "INPUT_INVALID",
      message: 'The MCP server "a" lists no tool "secret".',
    });
    expect(heard).toEqual([]);
    await manager.call("a", { name: "echo", arguments: {} });
    expect(heard).toEqual(["tools/call"]);
  });

  it.each([true, false])(
    "is refused if that is not the approved one, and the user refuses others: %s",
    async (refusesOthers) => {
      const heard: string[] = [];
      const fake = createFakeServer(({ id, method }) => {
        if (id !== undefined) heard.push(method);
        fake.say({ id, result: { content: [], prompts: [] } });
      });
      fake.tools = ECHO;
      const { manager } = manage({ servers: [{ server, approved: "sha256:0", refusesOthers }], connect: fake.connect });

      const outcomes = await Promise.allSettled([
        manager.tools("a"),
        manager.call("a", { name: "echo", arguments: {} }),
        manager.request("a", { method: "prompts/list" }),
      ]);

      const reasons = outcomes.map((outcome) => outcome.status === "rejected" && (outcome.reason as Error).message);
      const reason = 'The MCP server "a" cannot be used: its tools differ from the approved ones.';
      expect(reasons).toEqual(Array.from({ length: 3 }, () => refusesOthers && reason));
      expect(heard.toSorted()).toEqual(refusesOthers ? [] : ["prompts/list", "tools/call"]);
      expect(manager.list()).toMatchObject([{ toolsChanged: true, calls: 1 }]);
    },
  );
});
