import { describe, expect, it } from "vitest";
import { failureOf } from "@budgie/testkit";
import { run } from "./helpers/run.ts";
import { createScriptedAgent, POLITE } from "./helpers/scripted-agent.ts";

describe("a request for permission", () => {
  const OPTIONS = [
    { optionId: "3", kind: "reject_always", name: "Never" },
    { optionId: "1", kind: "allow_always", name: "Always" },
    { optionId: "2", kind: "reject_once", name: "No" },
    { optionId: "0", kind: "allow_once", name: "Yes" },
  ];

  it.each(["c1", "an id that budgie does not know"])("of the session %j is answered at once", async (sessionId) => {
    const { answers, agent } = createAsking(sessionId, OPTIONS);

    await run(agent);

    expect(answers).toEqual([{ outcome: { outcome: "selected", optionId: "0" } }]);
  });

  it("is denied by the policy, which the result names", async () => {
    const { answers, agent } = createAsking("c1", OPTIONS);

    const { denied } = await run(agent, { permission: "deny" });

    expect(answers).toEqual([{ outcome: { outcome: "selected", optionId: "2" } }]);
    expect(denied).toEqual(["Write a.txt"]);
  });

  it("names at most 100 of the denied tools", async () => {
    const agent = createScriptedAgent({
      ...POLITE,
      "session/prompt": async (_params, io) => {
        for (let count = 0; count < 120; count++) {
          await io.ask("session/request_permission", toRequest("c1", OPTIONS));
        }
        io.say("Gave up.");
        return { stopReason: "end_turn" };
      },
    });

    expect((await run(agent, { permission: "deny" })).denied).toHaveLength(100);
  });

  it("without an option that fits is cancelled", async () => {
    const { answers, agent } = createAsking("c1", OPTIONS.slice(0, 1));

    const { denied } = await run(agent);

    expect(answers).toEqual([{ outcome: { outcome: "cancelled" } }]);
    expect(denied).toEqual(["Write a.txt"]);
  });

  it("that makes an agent give up without a word is named in the error", async () => {
    const agent = createScriptedAgent({
      ...POLITE,
      "session/prompt": async (_params, io) => {
        await io.ask("session/request_permission", toRequest("c1", OPTIONS));
        return { stopReason: "end_turn" };
      },
    });

    expect(await failureOf(run(agent, { permission: "deny" }))).toMatchObject({
      code: "AGENT_FAILED",
      message: expect.stringContaining("refused these tools: Write a.txt"),
    });
  });

  function createAsking(sessionId: string, options: typeof OPTIONS) {
    const answers: unknown[] = [];
    const agent = createScriptedAgent({
      ...POLITE,
      "session/prompt": async (_params, io) => {
        const { result } = await io.ask("session/request_permission", toRequest(sessionId, options));
        answers.push(result);
        io.say("Went on.");
        return { stopReason: "end_turn" };
      },
    });
    return { answers, agent };
  }

  function toRequest(sessionId: string, options: typeof OPTIONS) {
    return { sessionId, options, toolCall: { toolCallId: "t", title: "Write\n a.txt" } };
  }
});
