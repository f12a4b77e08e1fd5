import { describe, expect, it } from "vitest";
import { failureOf } from "@budgie/testkit";
import { CUSTOM, MODES, ON_V3, toAutopilot, toMode, V3_CAPABILITIES, V3_SCRIPT } from "../helpers/kiro-script.ts";
import { run } from "../helpers/run.ts";
import { createScriptedAgent, POLITE, type Script, type ScriptedAgent } from "../helpers/scripted-agent.ts";

const methodsOf = ({ received }: ScriptedAgent) => received.map(({ method }) => method);

describe("a Kiro that should be V3", () => {
  const opened = (modes: unknown) => ({
    "session/new": () => ({ sessionId: "c1", modes, configOptions: [toAutopilot("on")] }),
  });
  it.each<readonly [string, Script, RegExp]>([
    ["does not say that it is V3", { initialize: POLITE["initialize"] ?? (() => ({})) }, /V2 of Kiro answers/],
    ["names no mode", opened(undefined), /Kiro chose none/],
    ["chose another mode", opened({ ...MODES, currentModeId: "vibe" }), /Kiro chose "vibe"/],
    ["does not list its mode", opened({ currentModeId: CUSTOM.id }), /does not say where/],
    ["does not say where its mode is from", opened({ ...MODES, availableModes: [{ id: CUSTOM.id }] }), /does not say/],
    ["has its mode built in", opened({ ...MODES, availableModes: [toMode("bundled")] }), /from "bundled"/],
    ["has its mode from a repository", opened({ ...MODES, availableModes: [toMode("workspace")] }), /from "workspace"/],
    ["has its mode twice", opened({ ...MODES, availableModes: [toMode("client"), toMode("user")] }), /from "user"/],
    [
      "contradicts itself about its mode",
      opened({
        ...MODES,
        availableModes: [
          { id: CUSTOM.id, _meta: { kiro: { source: "bundled", resource: { source: { origin: "client" } } } } },
        ],
      }),
      /from "bundled"/,
    ],
  ])("that %s gets no prompt", async (_what, script, message) => {
    const agent = createScriptedAgent({ ...V3_SCRIPT, ...script });

    expect(await failureOf(run(agent, ON_V3))).toMatchObject({
      code: "AGENT_NOT_FOUND",
      message: expect.stringMatching(message),
    });
    expect(methodsOf(agent)).not.toContain("session/prompt");
  });

  it.each(["_kiro/customAgent/not_found", "_kiro/customAgent/config_error", "_kiro/policy/error"])(
    "that reports %s gets no prompt",
    async (method) => {
      const agent = createScriptedAgent({
        ...V3_SCRIPT,
        "session/set_config_option"(params, side) {
          side.send({ method, params: { sessionId: "c1", error: `broken \u001B[31m${"x".repeat(9999)}` } });
          return V3_SCRIPT["session/set_config_option"]?.(params, side);
        },
      });
      const { code, message } = await failureOf(run(agent, ON_V3));

      expect({ code, isShort: message.length < 700 }).toEqual({ code: "AGENT_NOT_FOUND", isShort: true });
      expect(message).toContain(`${method} (broken `);
      expect(methodsOf(agent)).not.toContain("session/prompt");
    },
  );

  it("that reports it only during the turn is stopped, and its answer is lost", async () => {
    const agent = createScriptedAgent({
      ...V3_SCRIPT,
      "session/prompt"(_params, side) {
        side.say("I am another.");
        side.send({ method: "_kiro/customAgent/not_found", params: { fallbackAgent: "vibe" } });
        return new Promise(() => undefined);
      },
    });

    expect(await failureOf(run(agent, ON_V3))).toMatchObject({ code: "AGENT_NOT_FOUND" });
    expect(agent.stops).toEqual(["shutdown"]);
  });
});

describe("a Kiro that should be V2", () => {
  it("is refused if V3 answers", async () => {
    const agent = createScriptedAgent({
      ...POLITE,
      initialize: () => ({ protocolVersion: 1, agentCapabilities: V3_CAPABILITIES }),
    });

    expect(await failureOf(run(agent, { kiro: { harness: "v2" } }))).toMatchObject({
      code: "AGENT_NOT_FOUND",
      message: expect.stringContaining("V3 of Kiro answers in place of V2"),
    });
    expect(methodsOf(agent)).toEqual(["initialize"]);
  });

  it("has nothing of V3 in its messages", async () => {
    const agent = createScriptedAgent(POLITE);
    await run(agent, { kiro: { harness: "v2" } });

    expect(methodsOf(agent)).toEqual(["initialize", "session/new", "session/prompt"]);
    expect(JSON.stringify(agent.received)).not.toContain("_meta");
  });
});
