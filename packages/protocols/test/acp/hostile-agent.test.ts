import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { failureOf } from "@budgie/testkit";
import { run } from "./helpers/run.ts";
import { createScriptedAgent, POLITE, type Script } from "./helpers/scripted-agent.ts";

describe("an agent that means harm", () => {
  it("with a prompt that it never reads is ended when its time is up", async () => {
    const agent = createScriptedAgent({
      ...POLITE,
      "session/new": (_params, io) => (io.stopReading(), { sessionId: "c1" }),
    });
    const prompt = "x".repeat(2 ** 20);

    expect(await failureOf(run(agent, { prompt, timeoutMs: 2000, cancelTimeoutMs: 50 }))).toMatchObject({
      code: "TIMED_OUT",
    });
    expect(agent.stops[0]).toBe("timeout");
  });

  it("that does not read its answers has only a bounded number of requests read", async () => {
    let sent = 0;
    const agent = createScriptedAgent(
      withPrompt((io) => {
        io.stopReading();
        const request = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "x/y", params: { pad: "x".repeat(2 ** 10) } });
        // Stops once the pipe is full.
        while (sent < 20_000 && io.print(`${request}\n`)) sent++;
        const flood = setInterval(() => {
          while (sent < 20_000 && io.print(`${request}\n`)) sent++;
        }, 1);
        setTimeout(() => clearInterval(flood), 1500);
      }),
    );

    await failureOf(run(agent, { timeoutMs: 2500, cancelTimeoutMs: 10 }));

    // Some are answered into the pipe's buffer.
    expect(sent).toBeGreaterThan(10);
    expect(sent).toBeLessThan(2000);
  });

  it.each([
    ["a request for permission with 20,000 wrong options", toPermission(Array(20_000).fill({}))],
    ["a plan of 20,000 wrong entries", toUpdate({ sessionUpdate: "plan", entries: Array(20_000).fill({}) })],
    ["a request whose id is a list", { id: [[[]]], method: "x/y" }],
    ["a request whose id is endless", { id: "x".repeat(2 ** 20), method: "x/y" }],
  ])("with %s is answered or ignored in time", async (_what, message) => {
    const agent = createScriptedAgent({
      ...POLITE,
      "session/prompt": (_params, io) => {
        io.send(message);
        io.say("Hello.");
        return { stopReason: "end_turn" };
      },
    });

    // A schema of each entry would take minutes, and then exhaust memory.
    expect(await run(agent)).toMatchObject({ response: "Hello." });
  });

  it.each([
    ["a million options", toPermission(Array(1_000_000).fill({}))],
    ["a million entries", toUpdate({ sessionUpdate: "plan", entries: Array(1_000_000).fill({}) })],
  ])("with a message of %s is ended before it is parsed", async (_what, message) => {
    const agent = createScriptedAgent(withPrompt((io) => io.send(message)));

    expect(await failureOf(run(agent))).toMatchObject({
      code: "AGENT_FAILED",
      message: expect.stringContaining("more than 50000 values"),
    });
    expect(agent.stops).toEqual(["shutdown"]);
  });

  it("with many messages of many values has few of them parsed in a second", async () => {
    const agent = createScriptedAgent({
      ...POLITE,
      "session/prompt": (_params, io) => {
        for (let number = 0; number < 8; number++) io.send({ method: "x/y", params: Array(24_000).fill({}) });
        io.say("Hello.");
        return { stopReason: "end_turn" };
      },
    });
    const began = performance.now();

    expect(await run(agent)).toMatchObject({ response: "Hello." });
    // 384,000 values at 100,000 a second, after a burst of 200,000
    expect(performance.now() - began).toBeGreaterThan(1400);
  });

  it("with lines without end leaves time for others", async () => {
    const agent = createScriptedAgent(withPrompt((io) => void io.print("x\n".repeat(2_000_000))));
    let ticks = 0;
    const ticking = setInterval(() => ticks++, 10);

    const failure = failureOf(run(agent, { timeoutMs: 2500, cancelTimeoutMs: 10 }));
    await sleep(1000);

    // Without pauses, reading lines would block the event loop all the time.
    expect(ticks).toBeGreaterThan(3);
    expect(await failure).toMatchObject({ code: "TIMED_OUT" });
    clearInterval(ticking);
  });

  it("that closes its output and lives on is said to have done that", async () => {
    const agent = createScriptedAgent(withPrompt((io) => io.closeOutput()));

    expect(await failureOf(run(agent))).toMatchObject({
      code: "AGENT_CRASHED",
      message: expect.stringContaining("it closed its output"),
    });
  });

  it("whose start takes the turn's whole time gets no prompt", async () => {
    const agent = createScriptedAgent({
      ...POLITE,
      initialize: async () => {
        await sleep(80);
        return { protocolVersion: 1 };
      },
      "session/new": async () => {
        await sleep(80);
        return { sessionId: "c1" };
      },
    });

    expect(await failureOf(run(agent, { timeoutMs: 120 }))).toMatchObject({ code: "TIMED_OUT" });
    expect(agent.received.map(({ method }) => method)).not.toContain("session/prompt");
  });
});

type Attack = (io: Parameters<Script[string]>[1]) => void;

/** Returns a script that never answers its prompt. */
function withPrompt(attack: Attack): Script {
  return {
    ...POLITE,
    "session/prompt": (_params, io) => {
      attack(io);
      return new Promise(() => undefined);
    },
  };
}

function toPermission(options: readonly unknown[]) {
  const params = { sessionId: "c1", options, toolCall: { toolCallId: "t" } };
  return { id: 7, method: "session/request_permission", params };
}

function toUpdate(update: unknown) {
  return { method: "session/update", params: { sessionId: "c1", update } };
}
