import { describe, expect, it } from "vitest";
import { failureOf } from "@budgie/testkit";
import type { Exit } from "@budgie/core";
import { run } from "./helpers/run.ts";
import { createScriptedAgent, POLITE } from "./helpers/scripted-agent.ts";

describe("resuming", () => {
  it("uses session/resume where the agent has it", async () => {
    const agent = createScriptedAgent({
      ...POLITE,
      initialize: () => ({ protocolVersion: 1, agentCapabilities: { sessionCapabilities: { resume: {} } } }),
      "session/resume": () => ({}),
    });
    await run(agent);
    await run(agent, { resume: true });

    expect(agent.received.map(({ method }) => method)).toContain("session/resume");
  });

  it("falls back to session/load if session/resume is only advertised", async () => {
    const agent = createScriptedAgent({
      ...POLITE,
      initialize: () => ({
        protocolVersion: 1,
        agentCapabilities: { loadSession: true, sessionCapabilities: { resume: {} } },
      }),
    });
    await run(agent);
    await run(agent, { resume: true });

    expect(agent.received.map(({ method }) => method)).toEqual(
      expect.arrayContaining(["session/resume", "session/load"]),
    );
  });

  it.each<[string, string, typeof POLITE, string]>([
    [
      "has neither",
      "SESSION_UNUSABLE",
      { ...POLITE, initialize: () => ({ protocolVersion: 1, agentCapabilities: {} }) },
      "cannot resume",
    ],
    ["does not know the conversation", "SESSION_UNUSABLE", failingLoad(-32_002, "Resource not found"), "not found"],
    // The error may be temporary, and an unusable session loses its home.
    ["fails otherwise", "AGENT_FAILED", failingLoad(-32_603, "Internal"), "Internal: no c1"],
    ["ends without a word", "SESSION_UNUSABLE", endingLoad(), "ended instead of resuming"],
    ["is stopped meanwhile, and ends well", "CANCELLED", endingLoad({ reason: "shutdown" }), "budgie is ending"],
    ["has no login any more", "LOGIN_REQUIRED", failingLoad(-32_000, "Authentication required"), "has no login"],
  ])("by an agent that %s fails with %s, and begins nothing new", async (_what, ...[code, script, message]) => {
    const agent = createScriptedAgent(script);
    await run(agent);

    expect(await failureOf(run(agent, { resume: true }))).toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
    expect(agent.received.filter(({ method }) => method === "session/new")).toHaveLength(1);
  });

  it("begins anew after a first turn that crashed, of which many agents keep nothing", async () => {
    let turns = 0;
    const agent = createScriptedAgent({
      ...POLITE,
      ...failingLoad(-32_002, "Resource not found"),
      "session/prompt": (_params, io) => {
        if (turns++ === 0) io.exit({ exitCode: 1 }, "502");
        io.say("Hello.");
        return { stopReason: "end_turn" };
      },
    });

    expect(await failureOf(run(agent))).toMatchObject({ code: "AGENT_CRASHED" });
    expect(await run(agent, { resume: true })).toMatchObject({ response: "Hello." });
  });
});

function endingLoad(exit: Partial<Exit> = {}): typeof POLITE {
  return { ...POLITE, "session/load": (_params, agent) => agent.exit({ exitCode: 0, ...exit }) };
}

function failingLoad(code: number, message: string): typeof POLITE {
  return { ...POLITE, "session/load": () => Promise.reject({ code, message, data: { details: "no c1" } }) };
}
