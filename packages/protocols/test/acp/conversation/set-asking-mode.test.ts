import { failureOf } from "@budgie/testkit";
import { describe, expect, it } from "vitest";
import { run } from "../helpers/run.ts";
import { createScriptedAgent, POLITE, type Script } from "../helpers/scripted-agent.ts";

const REFUSED = {
  code: "CONFIG_INVALID",
  message: expect.stringMatching(/^The program of the agent "coder" is in its mode "auto".*"permission": "deny"/),
};

/** Creates an agent that begins in a mode, and has these. */
function createAgent(currentModeId: string, ids: readonly string[], script: Script = {}) {
  const modes = { currentModeId, availableModes: ids.map((id) => ({ id, name: id })) };
  return createScriptedAgent({
    ...POLITE,
    "session/new": () => ({ sessionId: "c1", modes }),
    "session/load": () => ({ modes }),
    "session/set_mode": () => ({}),
    ...script,
  });
}

describe("a program whose tools are denied", () => {
  it.each([
    ["default", "Claude Code or Qwen Code", ["auto", "default", "plan"]],
    ["approve", "goose", ["auto", "approve", "chat"]],
  ])("is set to the mode %j of %s before its prompt, in each of its processes", async (asking, _program, ids) => {
    const agent = createAgent("auto", ids);

    await run(agent, { permission: "deny" });
    await run(agent, { permission: "deny", resume: true });

    const methods = agent.received.map(({ method }) => method);
    expect(agent.received.filter(({ method }) => method === "session/set_mode").map(({ params }) => params)).toEqual([
      { sessionId: "c1", modeId: asking },
      { sessionId: "c1", modeId: asking },
    ]);
    expect(methods.indexOf("session/set_mode")).toBeLessThan(methods.indexOf("session/prompt"));
  });

  it.each([
    ["has no mode that asks", createAgent("auto", ["auto", "full-access"])],
    ["lists no modes", createAgent("auto", [])],
    [
      "does not know its own mode",
      createAgent("auto", ["auto", "default"], {
        "session/set_mode": () => {
          throw { code: -32_602, message: "no such mode" };
        },
      }),
    ],
    [
      "stays in the other",
      createAgent("auto", ["auto", "default"], {
        "session/set_mode": (_params, { update }) => {
          update({ sessionUpdate: "current_mode_update", currentModeId: "auto" });
          return {};
        },
      }),
    ],
  ])("is refused before its prompt if it %s", async (_, agent) => {
    expect(await failureOf(run(agent, { permission: "deny" }))).toMatchObject(REFUSED);

    expect(agent.received.map(({ method }) => method)).not.toContain("session/prompt");
  });

  it("is stopped in the middle of a turn in which it begins to use tools without asking", async () => {
    const agent = createAgent("default", ["auto", "default"], {
      "session/prompt": (_params, { update }) => {
        update({ sessionUpdate: "current_mode_update", currentModeId: "auto" });
        return new Promise(() => undefined);
      },
    });

    expect(await failureOf(run(agent, { permission: "deny", cancelTimeoutMs: 50 }))).toMatchObject(REFUSED);

    expect(agent.stops[0]).toBe("cancelled");
  });

  it("has no answer of a turn in which it began to", async () => {
    const agent = createAgent("default", ["auto", "default"], {
      "session/prompt": (_params, { say, update }) => {
        update({ sessionUpdate: "current_mode_update", currentModeId: "auto" });
        say("Done.");
        return { stopReason: "end_turn" };
      },
    });

    expect(await failureOf(run(agent, { permission: "deny" }))).toMatchObject(REFUSED);
  });

  it("keeps a mode that asks, or that budgie does not know", async () => {
    for (const mode of ["default", "build"]) {
      const agent = createAgent(mode, ["auto", "default", "build"]);

      expect(await run(agent, { permission: "deny" })).toMatchObject({ response: "Hello." });
      expect(agent.received.map(({ method }) => method)).not.toContain("session/set_mode");
    }
  });
});

it("a program whose tools are allowed keeps its mode, and may change it", async () => {
  const agent = createAgent("auto", ["auto", "default"], {
    "session/prompt": (_params, { say, update }) => {
      update({ sessionUpdate: "current_mode_update", currentModeId: "yolo" });
      say("Hello.");
      return { stopReason: "end_turn" };
    },
  });

  expect(await run(agent)).toMatchObject({ response: "Hello." });
  expect(agent.received.map(({ method }) => method)).not.toContain("session/set_mode");
});
