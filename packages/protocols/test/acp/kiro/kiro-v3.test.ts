import { describe, expect, it } from "vitest";
import { failureOf } from "@budgie/testkit";
import { CUSTOM, MODES, ON_V3, toAutopilot, V3_SCRIPT } from "../helpers/kiro-script.ts";
import { reportedBy, run } from "../helpers/run.ts";
import { createScriptedAgent, type Script, type ScriptedAgent } from "../helpers/scripted-agent.ts";

const CONVERSATION = [".budgie-acp.jsonl", '{"conversation":"c1"}\n'] as const;

const methodsOf = ({ received }: ScriptedAgent) => received.map(({ method }) => method);
const paramsOf = ({ received }: ScriptedAgent, method: string) =>
  received.find((each) => each.method === method)?.params;

describe("a conversation with Kiro's V3 harness", () => {
  it("takes its agent from budgie, is off autopilot, and is told the agent with the prompt", async () => {
    const agent = createScriptedAgent(V3_SCRIPT);

    expect(await run(agent, { ...ON_V3, model: "claude-x" })).toMatchObject({ response: "Hello.", warnings: [] });
    expect(agent.received).toMatchObject([
      { method: "initialize", params: { clientCapabilities: {} } },
      {
        method: "session/new",
        params: { cwd: "/workspace", _meta: { kiro: { customAgents: [CUSTOM], modeId: CUSTOM.id } } },
      },
      { method: "session/set_config_option", params: { sessionId: "c1", configId: "autopilot", value: "off" } },
      { method: "session/set_config_option", params: { sessionId: "c1", configId: "model", value: "claude-x" } },
      { method: "session/prompt", params: { sessionId: "c1", _meta: { kiro: { modeId: CUSTOM.id } } } },
    ]);
  });

  it("is loaded with its agent, if V3 lists it", async () => {
    const agent = createScriptedAgent(V3_SCRIPT);
    agent.files.set(...CONVERSATION);
    await run(agent, { ...ON_V3, resume: true });

    expect(methodsOf(agent).slice(1, 3)).toEqual(["session/list", "session/load"]);
    expect(paramsOf(agent, "session/list")).toEqual({ cwd: "/workspace" });
    expect(paramsOf(agent, "session/load")).toMatchObject({
      sessionId: "c1",
      _meta: { kiro: { customAgents: [CUSTOM], modeId: CUSTOM.id } },
    });
    expect(paramsOf(agent, "session/prompt")).toMatchObject({ _meta: { kiro: { modeId: CUSTOM.id } } });
  });

  it("is found on a later page of the list", async () => {
    const pages: Readonly<Record<string, unknown>> = {
      first: { sessions: [{ sessionId: "c0" }, null], nextCursor: "second" },
      second: { sessions: [{ sessionId: "c1" }] },
    };
    const list = ({ cursor = "first" }: { cursor?: string }) => pages[cursor];
    const agent = createScriptedAgent({ ...V3_SCRIPT, "session/list": list });
    agent.files.set(...CONVERSATION);

    expect(await run(agent, { ...ON_V3, resume: true })).toMatchObject({ response: "Hello." });
  });

  it.each([
    ["is not listed", () => ({ sessions: [{ sessionId: "other" }] })],
    ["is on none of endlessly many pages", () => ({ sessions: [], nextCursor: "next" })],
  ])("that %s is not loaded, since V3 would begin a new one", async (_what, list) => {
    const agent = createScriptedAgent({ ...V3_SCRIPT, "session/list": list });
    agent.files.set(...CONVERSATION);

    expect(await failureOf(run(agent, { ...ON_V3, resume: true }))).toMatchObject({ code: "SESSION_UNUSABLE" });
    expect(methodsOf(agent)).not.toContain("session/load");
  });

  it("whose autopilot is a switch gets it in that form", async () => {
    const toSwitch = (currentValue: boolean) => [{ id: "autopilot", type: "boolean", currentValue }];
    const agent = createScriptedAgent({
      ...V3_SCRIPT,
      "session/new": () => ({ sessionId: "c1", modes: MODES, configOptions: toSwitch(true) }),
      "session/set_config_option": () => ({ configOptions: toSwitch(false) }),
    });
    await run(agent, ON_V3);

    expect(paramsOf(agent, "session/set_config_option")).toEqual({
      sessionId: "c1",
      configId: "autopilot",
      type: "boolean",
      value: false,
    });
  });

  it("stays on autopilot if its agent may use every tool", async () => {
    const agent = createScriptedAgent(V3_SCRIPT);
    await run(agent, { ...ON_V3, permission: "allow" });

    expect(methodsOf(agent)).not.toContain("session/set_config_option");
  });

  it.each<readonly [string, Script]>([
    ["has no such option", { "session/new": () => ({ sessionId: "c1", modes: MODES, configOptions: [] }) }],
    [
      "has no value for off",
      {
        "session/new": () => ({
          sessionId: "c1",
          modes: MODES,
          configOptions: [{ ...toAutopilot("on"), options: [{ value: "on" }] }],
        }),
      },
    ],
    ["stays on", { "session/set_config_option": () => ({ configOptions: [toAutopilot("on")] }) }],
    ["does not say what it is then", { "session/set_config_option": () => ({ configOptions: [] }) }],
  ])("whose autopilot %s gets no prompt", async (_what, script) => {
    const agent = createScriptedAgent({ ...V3_SCRIPT, ...script });

    expect(await failureOf(run(agent, ON_V3))).toMatchObject({
      code: "AGENT_FAILED",
      message: expect.stringContaining('"autopilot" cannot be switched off'),
    });
    expect(methodsOf(agent)).not.toContain("session/prompt");
  });

  it("gets no token from budgie", async () => {
    const answers: unknown[] = [];
    const agent = createScriptedAgent({
      ...V3_SCRIPT,
      async "session/prompt"(_params, side) {
        answers.push(await side.ask("_kiro/auth/getAccessToken", { scopes: ["all"] }));
        side.say("None.");
        return { stopReason: "end_turn" };
      },
    });
    await run(agent, ON_V3);

    expect(answers).toMatchObject([{ error: { code: -32601 } }]);
    expect(answers[0]).not.toHaveProperty("result");
  });

  it("is refused what its rules do not allow", async () => {
    const answers: unknown[] = [];
    const agent = createScriptedAgent({
      ...V3_SCRIPT,
      async "session/prompt"(_params, side) {
        const options = [
          { optionId: "yes", kind: "allow_once", name: "Yes" },
          { optionId: "no", kind: "reject_once", name: "No" },
        ];
        const toolCall = { toolCallId: "t1", title: "execute_bash" };
        answers.push(await side.ask("session/request_permission", { sessionId: "c1", options, toolCall }));
        side.say("Refused.");
        return { stopReason: "end_turn" };
      },
    });

    expect(await run(agent, ON_V3)).toMatchObject({ response: "Refused.", denied: ["execute_bash"] });
    expect(answers).toMatchObject([{ result: { outcome: { outcome: "selected", optionId: "no" } } }]);
  });

  it("reports its credits when it completes a turn", async () => {
    const agent = createScriptedAgent({
      ...V3_SCRIPT,
      "session/prompt"(_params, side) {
        const promptTurnSummaries = [
          { unit: "credit", usage: 0.1 },
          { unit: "token", usage: 900 },
          { unit: "credit", usage: 0.2 },
          { unit: "credit", usage: -5 },
        ];
        side.update({
          sessionUpdate: "session_info_update",
          _meta: { kiro: { kind: "turn_completion", promptTurnSummaries } },
        });
        side.update({ sessionUpdate: "session_info_update", title: "A title", _meta: { kiro: { kind: "title" } } });
        side.say("Done.");
        return { stopReason: "end_turn" };
      },
    });

    expect(await reportedBy(agent, ON_V3)).toEqual({ credits: 0.3 });
  });
});
