import { describe, expect, it } from "vitest";
import { failureOf } from "@budgie/testkit";
import { run } from "./helpers/run.ts";
import { createScriptedAgent, POLITE } from "./helpers/scripted-agent.ts";

describe("an agent that does not work", () => {
  it("is given up after the start-up limit, not the turn's", async () => {
    const agent = createScriptedAgent({ ...POLITE, "session/new": () => new Promise(() => undefined) });

    expect(await failureOf(run(agent, { startTimeoutMs: 2000 }))).toMatchObject({
      code: "TIMED_OUT",
      message: expect.stringContaining('"session/new"'),
    });
    expect(agent.stops).toEqual(["shutdown"]);
  });

  it("times out by the turn's limit if that comes before a request's", async () => {
    const agent = createScriptedAgent({ ...POLITE, "session/new": () => new Promise(() => undefined) });

    expect(await failureOf(run(agent, { timeoutMs: 2000, startTimeoutMs: 60_000 }))).toMatchObject({
      code: "TIMED_OUT",
      message: expect.stringMatching(
        /^The agent "coder" did not finish within 2s and was stopped\. .* more time with /,
      ),
    });
  });

  it("is asked to end a turn that takes too long, and then stopped", async () => {
    const agent = createScriptedAgent({ ...POLITE, "session/prompt": () => new Promise(() => undefined) });

    expect(await failureOf(run(agent, { timeoutMs: 2500, cancelTimeoutMs: 50 }))).toMatchObject({ code: "TIMED_OUT" });

    expect(agent.received.at(-1)).toEqual({ method: "session/cancel", params: { sessionId: "c1" } });
    expect(agent.stops[0]).toBe("timeout");
  });

  it("that ends is reported with its exit code and the end of its stderr", async () => {
    const agent = createScriptedAgent({
      ...POLITE,
      "session/prompt": (_params, io) => {
        io.exit({ exitCode: 3 }, "panic: out of\nideas");
        return new Promise(() => undefined);
      },
    });

    expect(await failureOf(run(agent))).toMatchObject({
      code: "AGENT_CRASHED",
      message: expect.stringMatching(/exit code 3: panic: out of ideas/),
    });
  });

  it.each([
    [{ code: -32000, message: "Authentication required" }, "LOGIN_REQUIRED", "Authentication required"],
    [{ code: -32603, message: "Internal error", data: { message: "429 slow down" } }, "AGENT_FAILED", "429 slow down"],
    [{ code: -32603, message: "Internal error", data: "the stream broke" }, "AGENT_FAILED", "the stream broke"],
  ])("with the error %j fails with %s", async (error, code, message) => {
    const agent = createScriptedAgent({ ...POLITE, "session/prompt": () => Promise.reject(error) });

    expect(await failureOf(run(agent))).toMatchObject({ code, message: expect.stringContaining(message) });
  });

  it.each([
    ["max_tokens", "limit of tokens"],
    ["max_turn_requests", "limit of requests"],
    ["something_new", '"something_new"'],
    ["cancelled", "ended its turn early"],
  ])("that stops for the reason %s has its answer, and a warning", async (stopReason, warning) => {
    const agent = createScriptedAgent({
      ...POLITE,
      "session/prompt": (_params, io) => (io.say("Half"), { stopReason }),
    });

    expect(await run(agent)).toMatchObject({ response: "Half", warnings: [expect.stringContaining(warning)] });
  });

  it.each([
    ["initialize", {}],
    ["initialize", null],
    ["session/new", { sessionId: 1 }],
    ["session/new", { sessionId: "" }],
    ["session/prompt", null],
    ["session/prompt", { stopReason: ["end_turn"] }],
  ])("that answers %s with %j fails, and is ended", async (method, answer) => {
    const agent = createScriptedAgent({ ...POLITE, [method]: () => answer });

    expect(await failureOf(run(agent))).toMatchObject({
      code: "AGENT_FAILED",
      message: expect.stringContaining(`"${method}" with something that is not ACP`),
    });
    expect(agent.stops).toEqual(["shutdown"]);
  });

  it("that speaks another version fails", async () => {
    const agent = createScriptedAgent({ ...POLITE, initialize: () => ({ protocolVersion: 2 }) });

    expect(await failureOf(run(agent))).toMatchObject({
      code: "AGENT_FAILED",
      message: expect.stringContaining("version 2 of ACP"),
    });
  });

  it("that refuses the prompt fails, with what it said", async () => {
    const agent = createScriptedAgent({
      ...POLITE,
      "session/prompt": (_params, io) => (io.say("I will not."), { stopReason: "refusal" }),
    });

    expect(await failureOf(run(agent))).toMatchObject({ code: "AGENT_FAILED", report: { response: "I will not." } });
  });
});

describe("cancelling", () => {
  it("asks the agent first, answers what it asks meanwhile, and then ends it", async () => {
    const cancelling = new AbortController();
    const answers: unknown[] = [];
    const agent = createScriptedAgent({
      ...POLITE,
      "session/prompt": async (_params, io) => {
        const notified = io.notified("session/cancel");
        cancelling.abort();
        await notified;
        const options = [{ optionId: "0", kind: "allow_once", name: "Yes" }];
        const request = { sessionId: "c1", options, toolCall: { toolCallId: "t" } };
        answers.push((await io.ask("session/request_permission", request))["result"]);
        return { stopReason: "cancelled" };
      },
    });

    expect(await failureOf(run(agent, { signal: cancelling.signal }))).toMatchObject({ code: "CANCELLED" });
    expect(answers).toEqual([{ outcome: { outcome: "cancelled" } }]);
    expect(agent.stops[0]).toBe("cancelled");
  });

  it("stops an agent that does not react", async () => {
    const cancelling = new AbortController();
    const agent = createScriptedAgent({
      ...POLITE,
      "session/prompt": () => (cancelling.abort(), new Promise(() => undefined)),
    });

    expect(await failureOf(run(agent, { signal: cancelling.signal, cancelTimeoutMs: 50 }))).toMatchObject({
      code: "CANCELLED",
    });
  });

  it("during the start ends the agent at once", async () => {
    const cancelling = new AbortController();
    const agent = createScriptedAgent({
      ...POLITE,
      initialize: () => (cancelling.abort(), new Promise(() => undefined)),
    });

    expect(await failureOf(run(agent, { signal: cancelling.signal }))).toMatchObject({ code: "CANCELLED" });
    expect(agent.received.map(({ method }) => method)).toEqual(["initialize"]);
  });
});
