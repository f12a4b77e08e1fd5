import { describe, expect, it } from "vitest";
import { failureOf, sendJson, type Script } from "@budgie/testkit";
import { listKagentAgents } from "../../src/a2a/index.ts";
import { run } from "./helpers/run.ts";
import { serve } from "./helpers/serve.ts";
import { CARD, sendEvent, WIRES, withCard } from "./helpers/wires.ts";

describe.each(WIRES)("a server of A2A $version", ({ card, get, message, status }) => {
  const done = { result: { id: "t1", status: { state: "completed" }, artifacts: [{ parts: [{ text: "Done." }] }] } };

  it("that lacks a method in the middle of a task does not get the prompt again", async () => {
    const server = await serve(
      withCard(card, ({ method }, response) => {
        if (!/stream/i.test(method ?? "")) return sendJson(response, { result: message("Twice.") });
        sendEvent(response, status("working"));
        response.end(`data: ${JSON.stringify({ error: { code: -32_601, message: "Method not found" } })}\n\n`);
      }),
    );

    expect((await failureOf(run(server.url))).message).toContain("refused the call (Method not found, -32601)");
    expect(server.calls.filter(({ method }) => /send|stream/i.test(method ?? ""))).toHaveLength(1);
  });

  it("that is lost for a while is asked for its task again", async () => {
    let polls = 0;
    const server = await serve(
      withCard(card, ({ method }, response) => {
        if (method === get) return ++polls < 3 ? response.destroy() : sendJson(response, done);
        sendEvent(response, status("working"));
        response.end();
      }),
    );

    expect((await run(server.url)).response).toBe("Done.");
  });

  it("that stays lost is an error, which says that its task may go on", async () => {
    const server = await serve(
      withCard(card, ({ method }, response) => {
        if (!/stream/i.test(method ?? "")) return void response.destroy();
        sendEvent(response, status("working"));
        response.end();
      }),
    );

    const error = await failureOf(run(server.url, { lostTimeoutMs: 300 }));

    expect(error).toMatchObject({ code: expect.stringMatching(/^(?:AGENT_CRASHED|RUNNER_UNAVAILABLE)$/) });
    expect(error.message).toContain("may go on there");
    expect(server.calls.filter(({ method }) => method === get).length).toBeGreaterThan(1);
  });

  it("that refuses to tell of a task is asked to cancel it", async () => {
    const server = await serve(
      withCard(card, ({ method }, response) => {
        if (/cancel/i.test(method ?? ""))
          return sendJson(response, { result: { id: "t1", status: { state: "canceled" } } });
        if (method === get) return sendJson(response, { error: { code: -32_603, message: "Internal" } });
        sendEvent(response, status("working"));
        response.end();
      }),
    );

    const error = await failureOf(run(server.url));

    expect(error).toMatchObject({
      code: "AGENT_FAILED",
      message: 'The server of the agent "k8s" refused the call (Internal, -32603). Its task is cancelled.',
    });
    expect(server.calls.at(-1)?.params).toMatchObject({ id: "t1" });
  });

  it("that wants a login is LOGIN_REQUIRED, also where it says so by JSON-RPC", async () => {
    const server = await serve(
      withCard(card, (_call, response) => sendJson(response, { error: { code: -32_000, message: "No token" } }, 401)),
    );

    expect((await failureOf(run(server.url))).code).toBe("LOGIN_REQUIRED");
  });
});

describe("a server that switches protocols", () => {
  const upgrade: Script = (_call, response) => {
    response.socket?.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
  };

  it("has no card", async () => {
    const server = await serve(upgrade);

    expect((await failureOf(run(server.url, { timeoutMs: 10_000 }))).code).toBe("RUNNER_UNAVAILABLE");
  });

  it("has no list of agents", async () => {
    const server = await serve(upgrade);
    const { signal } = new AbortController();

    expect((await failureOf(listKagentAgents({ url: server.url, headers: {} }, { signal }))).code).toBe(
      "RUNNER_UNAVAILABLE",
    );
  });
});

describe("a server that is too slow", () => {
  it("is said to have not answered in time", async () => {
    const server = await serve(() => undefined);

    const error = await failureOf(run(server.url, { startTimeoutMs: 50 }));

    expect(error).toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringContaining("did not answer in time"),
    });
    expect(error.message).not.toContain("ABORT_ERR");
  });
});

describe("a server that sends values of other types", () => {
  const strange = { toString: 1, valueOf: 1 };

  it.each([
    ["supportedInterfaces", { supportedInterfaces: [{ protocolBinding: "JSONRPC", protocolVersion: strange }] }],
    ["protocolVersion", { url: "http://elsewhere.invalid/", protocolVersion: strange }],
  ])("has a card that budgie cannot go by if they are in its %s", async (_name, card) => {
    const server = await serve(withCard(card, () => undefined));

    expect((await failureOf(run(server.url))).message).toContain("names no JSON-RPC interface");
  });

  it.each([
    ["an object", strange],
    ["a name of Object's", "constructor"],
  ])("is understood without a kind that is %s", async (_name, kind) => {
    const working = { kind, id: "t1", status: { state: "working" } };
    const done = { kind, id: "t1", status: { state: "completed" }, artifacts: [{ parts: [{ text: "Done." }] }] };
    const server = await serve(
      withCard(CARD, ({ method }, response) => sendJson(response, { result: method === "GetTask" ? done : working })),
    );

    expect((await run(server.url)).response).toBe("Done.");
  });
});
