import { describe, expect, it } from "vitest";
import { failureOf } from "@budgie/testkit";
import type { Script } from "./helpers/scripted-agent.ts";
import { create } from "./helpers/warm-place.ts";

describe("an agent whose turn did not end well", () => {
  it.each<[string, Script]>([
    ["says nothing", { "session/prompt": () => ({ stopReason: "end_turn" }) }],
    ["refuses", { "session/prompt": (_params, io) => (io.say("No."), { stopReason: "refusal" }) }],
    ["gives up", { "session/prompt": (_params, io) => (io.say("No."), { stopReason: "cancelled" }) }],
    ["fails", { "session/prompt": () => Promise.reject({ code: -32603, message: "Internal" }) }],
    ["answers invisibly", { "session/prompt": (_params, io) => (io.say("\u200B"), { stopReason: "end_turn" }) }],
  ])("does not live on if it %s", async (_what, script) => {
    const { agent, ask } = create({ script });

    await ask().catch(() => undefined);

    expect(agent.processes[0]?.hasEnded()).toBe(true);
  });

  it("does not live on if the turn was cancelled, and the next one resumes", async () => {
    let turns = 0;
    const cancelling = new AbortController();
    const { agent, ask } = create({
      script: {
        "session/prompt": async (_params, io) => {
          if (++turns !== 2) return (io.say("Hello."), { stopReason: "end_turn" });
          const notified = io.notified("session/cancel");
          cancelling.abort();
          await notified;
          return { stopReason: "cancelled" };
        },
      },
    });
    const { sessionId } = await ask();

    expect(await failureOf(ask({ sessionId }, { signal: cancelling.signal }))).toMatchObject({ code: "CANCELLED" });
    expect(agent.processes[0]?.hasEnded()).toBe(true);
    expect(await ask({ sessionId })).toMatchObject({ response: "Hello." });
  });

  it("is not asked again if it ends with the prompt", async () => {
    let turns = 0;
    const { agent, ask } = create({
      dependencies: { retry: "never" },
      script: {
        "session/prompt": (_params, io) => {
          if (turns++ > 0) io.exit({ exitCode: 3 }, "panic");
          io.say("Hello.");
          return { stopReason: "end_turn" };
        },
      },
    });
    const { sessionId } = await ask();

    expect(await failureOf(ask({ sessionId }))).toMatchObject({
      code: "AGENT_CRASHED",
      message: expect.stringContaining("exit code 3: panic"),
    });
    expect(turns).toBe(2);
    expect(agent.processes).toHaveLength(1);
  });
});
