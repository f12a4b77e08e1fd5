import { describe, expect, it } from "vitest";
import { failureOf, run } from "./helpers/run.ts";
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

  it.each<[string, Parameters<typeof createScriptedAgent>[0], string]>([
    ["has neither", { ...POLITE, initialize: () => ({ protocolVersion: 1, agentCapabilities: {} }) }, "cannot resume"],
    [
      "does not know the conversation",
      {
        ...POLITE,
        "session/load": () => Promise.reject({ code: -32603, message: "Internal", data: { details: "no c1" } }),
      },
      "Internal: no c1",
    ],
  ])("fails with SESSION_UNUSABLE, and begins nothing new, if the agent %s", async (_what, script, message) => {
    const agent = createScriptedAgent(script);
    await run(agent);

    expect(await failureOf(run(agent, { resume: true }))).toMatchObject({
      code: "SESSION_UNUSABLE",
      message: expect.stringContaining(message),
    });
    expect(agent.received.filter(({ method }) => method === "session/new")).toHaveLength(1);
  });
});
