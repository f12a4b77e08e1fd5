import { describe, expect, it } from "vitest";
import type { BudgieError } from "@budgie/core";
import { TurnEvents } from "@budgie/core/protocol";
import { run } from "./helpers/run.ts";
import { createScriptedAgent, POLITE } from "./helpers/scripted-agent.ts";

describe("a turn over ACP", () => {
  it("offers the agent no file and no terminal of the host, and refuses both if asked", async () => {
    const refused: unknown[] = [];
    const agent = createScriptedAgent({
      ...POLITE,
      "session/prompt": async (_params, io) => {
        for (const method of ["fs/read_text_file", "fs/write_text_file", "terminal/create"]) {
          const { error } = await io.ask(method, { sessionId: "c1", path: "/etc/passwd", command: "sh", content: "" });
          refused.push(error);
        }
        io.say("refused");
        return { stopReason: "end_turn" };
      },
    });

    await run(agent);

    expect(agent.received[0]).toMatchObject({
      method: "initialize",
      params: { protocolVersion: 1, clientCapabilities: {} },
    });
    expect(refused).toEqual(Array(3).fill(expect.objectContaining({ code: -32601 })));
  });

  it("begins a conversation, and resumes it in the next process", async () => {
    const agent = createScriptedAgent(POLITE);

    expect(await run(agent)).toMatchObject({ response: "Hello.", warnings: [], denied: [] });
    expect(await run(agent, { resume: true })).toMatchObject({ response: "Hello.", warnings: [] });

    expect(agent.received.filter(({ method }) => method.startsWith("session/"))).toEqual([
      { method: "session/new", params: { cwd: "/workspace", mcpServers: [] } },
      { method: "session/prompt", params: { sessionId: "c1", prompt: [{ type: "text", text: "Do it" }] } },
      { method: "session/load", params: { sessionId: "c1", cwd: "/workspace", mcpServers: [] } },
      { method: "session/prompt", params: { sessionId: "c1", prompt: [{ type: "text", text: "Do it" }] } },
    ]);
  });

  it("says so if there is no conversation to resume", async () => {
    const agent = createScriptedAgent(POLITE);
    await run(agent);
    agent.files.clear();

    const { warnings } = await run(agent, { resume: true });

    expect(warnings).toEqual([expect.stringContaining("has no conversation to resume")]);
  });
});

describe("what a program is told", () => {
  it("is the model, by the option that it offers for it", async () => {
    const agent = createScriptedAgent({
      ...POLITE,
      "session/new": () => ({
        sessionId: "c1",
        configOptions: [{ id: "m", category: "model", type: "select", name: "" }],
      }),
      "session/set_config_option": () => ({ configOptions: [] }),
    });

    await run(agent, { model: "opus" });

    expect(agent.received).toContainEqual({
      method: "session/set_config_option",
      params: { sessionId: "c1", configId: "m", value: "opus" },
    });
  });

  it("warns if it knows no way to choose a model", async () => {
    expect(await run(createScriptedAgent(POLITE), { model: "opus" })).toMatchObject({
      warnings: [expect.stringContaining("cannot be given a model")],
    });
  });

  it.each([
    ["another agent", { modes: { currentModeId: "default", availableModes: [] } }, "AGENT_NOT_FOUND"],
    ["no agent", {}, "AGENT_NOT_FOUND"],
    ["the agent", { modes: { currentModeId: "reviewer", availableModes: [] } }, undefined],
  ])("is checked: %s answers", async (_what, state, code) => {
    const agent = createScriptedAgent({ ...POLITE, "session/new": () => ({ sessionId: "c1", ...state }) });

    const failure = await run(agent, { mode: "reviewer" }).then(
      () => undefined,
      (error: unknown) => (error as BudgieError).code,
    );

    expect(failure).toBe(code);
    expect(agent.received.some(({ method }) => method === "session/prompt")).toBe(code === undefined);
  });
});

describe("progress", () => {
  it("has the titles of tools and the state of plans, on one line, and output has the text too", async () => {
    const agent = createScriptedAgent({
      ...POLITE,
      "session/prompt": async (_params, io) => {
        io.update({ sessionUpdate: "tool_call", toolCallId: "t", title: "Edit\n\u001B[31ma.ts" });
        io.update({ sessionUpdate: "plan", entries: [{ status: "completed" }, { status: "pending" }] });
        io.say("Done.");
        await new Promise((resolve) => setTimeout(resolve, 400));
        return { stopReason: "end_turn" };
      },
    });
    const activities: string[] = [];
    let output = "";

    await run(agent, {
      events: new TurnEvents()
        .on("activity", (text) => void activities.push(text))
        .on("output", (chunk) => void (output += chunk.toString())),
    });

    expect(activities).toEqual(["Edit a.ts", "plan: 1 of 2 done"]);
    expect(output).toContain("[plan: 1 of 2 done]\nDone.");
  });
});

describe("an agent that does not end with its input", () => {
  it("is stopped after its answer", async () => {
    const agent = createScriptedAgent(POLITE, { endsWithInput: false });

    expect(await run(agent)).toMatchObject({ response: "Hello.", exit: { signal: undefined, reason: undefined } });
    expect(agent.stops).toEqual(["shutdown"]);
  });
});
