import { afterEach, describe, expect, it, vi } from "vitest";
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

describe("resuming a conversation of Gemini CLI, which destroys one that it loads in the minute of its begin", () => {
  afterEach(() => void vi.useRealTimers());

  function setClock(time: string): void {
    vi.useFakeTimers({ toFake: ["Date"], now: new Date(`2026-11-26T${time}Z`) });
  }

  const loads = ({ received }: ReturnType<typeof createScriptedAgent>) =>
    received.filter(({ method }) => method === "session/load").length;

  it("waits for the next minute", async () => {
    const agent = createScriptedAgent(introducedAs("gemini-cli"));
    setClock("12:00:10");
    await run(agent);

    expect(await failureOf(run(agent, { resume: true, timeoutMs: 800 }))).toMatchObject({ code: "TIMED_OUT" });
    expect(loads(agent)).toBe(0);

    setClock("12:01:00.900");
    const waiting = run(agent, { resume: true });
    await vi.waitFor(() => expect(agent.processes).toHaveLength(3));
    expect(loads(agent)).toBe(0);
    setClock("12:01:01");
    expect(await waiting).toMatchObject({ response: "Hello." });
    expect(loads(agent)).toBe(1);
  });

  it("waits for no other program", async () => {
    const agent = createScriptedAgent(introducedAs("other"));
    setClock("12:00:10");
    await run(agent);

    expect(await run(agent, { resume: true, timeoutMs: 800 })).toMatchObject({ response: "Hello." });
  });

  it("ends the wait with the turn", async () => {
    const agent = createScriptedAgent(introducedAs("gemini-cli"));
    setClock("12:00:10");
    await run(agent);
    const cancelling = new AbortController();

    const waiting = failureOf(run(agent, { resume: true, signal: cancelling.signal }));
    await vi.waitFor(() => expect(agent.processes).toHaveLength(2));
    cancelling.abort();

    expect(await waiting).toMatchObject({ code: "CANCELLED" });
  });

  it.each(['Invalid session identifier "c1".', "No previous sessions found for this project."])(
    "fails with SESSION_UNUSABLE for %s",
    async (details) => {
      const lost = {
        "session/load": () => Promise.reject({ code: -32_603, message: "Internal error", data: { details } }),
      };
      setClock("12:00:10");
      for (const [name, code] of [
        ["gemini-cli", "SESSION_UNUSABLE"],
        ["other", "AGENT_FAILED"],
      ] as const) {
        const agent = createScriptedAgent({ ...introducedAs(name), ...lost });
        await run(agent);
        setClock("12:02:00");

        expect(await failureOf(run(agent, { resume: true }))).toMatchObject({ code });
      }
    },
  );
});

function introducedAs(name: string): typeof POLITE {
  const agentInfo = { name, version: "1" };
  return { ...POLITE, initialize: () => ({ protocolVersion: 1, agentCapabilities: { loadSession: true }, agentInfo }) };
}

function endingLoad(exit: Partial<Exit> = {}): typeof POLITE {
  return { ...POLITE, "session/load": (_params, agent) => agent.exit({ exitCode: 0, ...exit }) };
}

function failingLoad(code: number, message: string): typeof POLITE {
  return { ...POLITE, "session/load": () => Promise.reject({ code, message, data: { details: "no c1" } }) };
}
