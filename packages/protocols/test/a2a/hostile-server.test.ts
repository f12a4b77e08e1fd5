import { describe, expect, it } from "vitest";
import { failureOf, sendJson, startScriptedServer } from "@budgie/testkit";
import { createFiles, run } from "./helpers/run.ts";
import { serve } from "./helpers/serve.ts";
import { CARD, interfaces, OLD_CARD, sendEvent, WIRES, withCard } from "./helpers/wires.ts";

describe("the server of an agent", () => {
  it("that is dead is RUNNER_UNAVAILABLE", async () => {
    const server = await startScriptedServer(() => undefined);
    await server[Symbol.asyncDispose]();

    expect(await failureOf(run(`${server.url}?key=s3cret`))).toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.not.stringContaining("s3cret"),
    });
  });

  it("that sends no card in time is RUNNER_UNAVAILABLE", async () => {
    const server = await serve(() => undefined);

    expect((await failureOf(run(server.url, { startTimeoutMs: 50 }))).code).toBe("RUNNER_UNAVAILABLE");
  });

  it("has its card at the root of its host where there is none below its address", async () => {
    const server = await serve((call, response) => {
      if (call.path.startsWith("/agent/")) return sendJson(response, {}, 404);
      sendJson(
        response,
        call.method === undefined ? { ...CARD, capabilities: {} } : { result: WIRES[0].message("Hello.") },
      );
    });

    expect((await run(server.url)).response).toBe("Hello.");
  });

  it.each([
    ["speaks only REST", { supportedInterfaces: [{ protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }] }],
    ["is of a newer version", { supportedInterfaces: interfaces("2.0") }],
    ["is of an old version by gRPC", { ...OLD_CARD, preferredTransport: "GRPC" }],
    ["is no card", ["card"]],
  ])("whose card %s is an error", async (_name, card) => {
    const server = await serve(withCard(card, () => undefined));

    expect(await failureOf(run(server.url))).toMatchObject({
      code: "AGENT_FAILED",
      message: expect.stringContaining("names no JSON-RPC interface"),
    });
  });

  it("whose card is larger than 256 KiB is no longer read", async () => {
    const server = await serve(withCard({ ...CARD, description: "x".repeat(300_000) }, () => undefined));

    expect((await failureOf(run(server.url))).message).toContain("more than 256 KiB");
  });

  it.each([
    ["card", withCard({ ...CARD, skills: Array(25_000).fill({}) }, () => undefined)],
    [
      "answer",
      withCard({ ...CARD, capabilities: {} }, (_call, response) =>
        sendJson(response, { result: Array(1_000_000).fill({}) }),
      ),
    ],
    ["event", withCard(CARD, (_call, response) => void sendEvent(response, Array(1_000_000).fill({})))],
  ])("whose %s has more than 50,000 values is not parsed", async (_what, answer) => {
    const server = await serve(answer);

    expect(await failureOf(run(server.url))).toMatchObject({
      code: "AGENT_FAILED",
      message: expect.stringContaining("sent JSON of more than 50000 values"),
    });
  });

  it("that redirects is not followed, and so gets no headers elsewhere", async () => {
    const other = await serve((_call, response) => sendJson(response, CARD));
    const server = await serve((_call, response) => response.writeHead(307, { location: other.url }).end());

    const error = await failureOf(run(server.url, { headers: { authorization: "Bearer t0ken" } }));

    expect(error).toMatchObject({ code: "AGENT_FAILED", message: expect.stringContaining("redirect (HTTP 307)") });
    expect(other.calls).toEqual([]);
  });

  it("that refuses budgie is LOGIN_REQUIRED, without the header's value", async () => {
    const server = await serve((_call, response) => sendJson(response, {}, 401));

    const error = await failureOf(run(server.url, { headers: { authorization: "Bearer t0ken" } }));

    expect(error).toMatchObject({ code: "LOGIN_REQUIRED", message: expect.not.stringContaining("t0ken") });
  });

  it("gets the session's id as that of a new conversation where the client names it", async () => {
    const session = createFiles();
    const server = await serve(
      withCard(CARD, (_call, response) => sendJson(response, { result: WIRES[0].message("Hello.") })),
    );

    await run(server.url, { session, namesContext: true });

    expect(server.calls.at(-1)?.params).toMatchObject({ message: { contextId: session.id } });
  });
});
