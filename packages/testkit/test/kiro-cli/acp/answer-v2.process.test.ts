import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createKiroUser } from "../run-kiro-cli.ts";
import { startAcp, updatesOf } from "./acp-client.ts";

const WORKER = ["--agent", "shell-worker"];

describe("kiro-cli acp of the V2 harness", () => {
  it("says what it can, and names its agents as modes and its models", async () => {
    await using user = await createKiroUser();
    const client = startAcp(user, WORKER);

    expect((await client.request("initialize", { protocolVersion: 1 })).result).toMatchObject({
      protocolVersion: 1,
      agentInfo: { name: "Kiro CLI Agent" },
      agentCapabilities: { loadSession: true },
      authMethods: [],
    });
    expect(await client.begin()).toMatchObject({
      sessionId: expect.stringMatching(/^[\w-]{36}$/),
      modes: {
        currentModeId: "shell-worker",
        availableModes: expect.arrayContaining([{ id: "code-reviewer", name: "code-reviewer" }]),
      },
      models: { currentModelId: "auto", availableModels: expect.arrayContaining([{ modelId: "auto", name: "auto" }]) },
    });
    expect(await client.end()).toMatchObject({ exitCode: 0 });
  });

  it("answers a prompt with messages, tools and its cost", async () => {
    await using user = await createKiroUser();
    const client = startAcp(user, WORKER);
    const { sessionId } = await client.begin();

    expect((await client.prompt(sessionId, "[[say: First.]] [[run: echo out]]")).result).toEqual({
      stopReason: "end_turn",
    });

    expect(updatesOf(client.received)).toMatchObject([
      { sessionUpdate: "tool_call", title: "Running command: echo out", kind: "execute", status: "pending" },
      { sessionUpdate: "tool_call_update", status: "in_progress" },
      { sessionUpdate: "tool_call_update", status: "completed" },
      { sessionUpdate: "agent_message_chunk", content: { text: "First.\n" } },
      { sessionUpdate: "agent_message_chunk", content: { text: "out" } },
    ]);
    expect(client.received.at(-1)).toMatchObject({
      method: "_kiro.dev/metadata",
      params: { sessionId, meteringUsage: [{ value: 0.01, unit: "credit" }] },
    });
    await client.end();
  });

  it("loads a conversation in another process, and replays it", async () => {
    await using user = await createKiroUser();
    const first = startAcp(user, WORKER);
    const { sessionId } = await first.begin();
    await first.prompt(sessionId, "Remember token-blue. [[say: I will.]]");
    await first.end();

    const second = startAcp(user, WORKER);
    const { result } = await second.request("session/load", { sessionId, cwd: user.work, mcpServers: [] });
    const replayed = updatesOf(second.received).map(({ sessionUpdate }) => sessionUpdate);
    await second.prompt(sessionId, "[[recall]]");

    expect(result).toMatchObject({ modes: { currentModeId: "shell-worker" } });
    expect(result).not.toHaveProperty("sessionId");
    expect(replayed).toEqual(["user_message_chunk", "agent_message_chunk"]);
    expect(second.text()).toBe("I will.token-blue");
    expect(await readdir(join(user.host.home, ".kiro", "sessions", "cli"))).toHaveLength(2);
    await second.end();
  });

  it.each([
    ["an unknown conversation", "session/load", { sessionId: "none", mcpServers: [] }],
    ["a session without a list of MCP servers", "session/new", {}],
  ])("ends without a word for %s", async (_what, method, params) => {
    await using user = await createKiroUser();
    const client = startAcp(user, WORKER);
    await client.request("initialize", { protocolVersion: 1 });

    expect(await client.request(method, { cwd: user.work, ...params })).toMatchObject({ error: { message: "ended" } });
    expect(await client.end()).toEqual({ exitCode: 0, stderr: "" });
  });

  it("takes its default agent for an unknown one, and says so where few look", async () => {
    await using user = await createKiroUser();
    const client = startAcp(user, ["--agent", "nobody"]);

    expect(await client.begin()).toMatchObject({ modes: { currentModeId: "kiro_default" } });
    expect(await client.until("_kiro.dev/agent/not_found")).toMatchObject({
      params: { requestedAgent: "nobody", fallbackAgent: "kiro_default" },
    });
    expect((await client.end()).stderr).toContain('agent "nobody" not found, using "kiro_default"');
  });

  it("changes its agent on request, and refuses one that it does not have", async () => {
    await using user = await createKiroUser();
    const client = startAcp(user);
    const { sessionId } = await client.begin();

    const unknown = await client.request("session/set_mode", { sessionId, modeId: "nobody" });
    await client.request("session/set_mode", { sessionId, modeId: "reader" });
    await client.prompt(sessionId, "[[status]]");

    expect(unknown.error).toMatchObject({ code: -32_603, data: "Mode 'nobody' not found" });
    expect(JSON.parse(client.text())).toMatchObject({ agent: "reader" });
    expect((await client.request("session/set_config_option", { sessionId })).error).toMatchObject({ code: -32_601 });
    await client.end();
  });

  it.each([
    ["reject_once", "I was not allowed to use execute_bash.", "failed"],
    ["allow_once", "out", "completed"],
  ])("asks for permission, and obeys %s", async (permission, said, status) => {
    await using user = await createKiroUser();
    const client = startAcp(user, ["--agent", "reader", "--trust-tools=@none"], { permission });
    const { sessionId } = await client.begin();
    await client.request("session/set_mode", { sessionId, modeId: "orchestrator" });

    await client.prompt(sessionId, "[[run: echo out]]");

    expect(await client.until("session/request_permission")).toMatchObject({
      params: { sessionId, toolCall: { title: "Running command: echo out", kind: "execute" } },
    });
    expect(client.text()).toBe(said);
    expect(updatesOf(client.received).findLast((update) => "status" in update)).toMatchObject({ status });
    await client.end();
  });

  it("asks for nothing with --trust-all-tools", async () => {
    await using user = await createKiroUser();
    const client = startAcp(user, ["--agent", "orchestrator", "--trust-all-tools"]);
    const { sessionId } = await client.begin();

    await client.prompt(sessionId, "[[run: echo out]]");

    expect(client.text()).toBe("out");
    expect(client.received.filter(({ method }) => method === "session/request_permission")).toEqual([]);
    await client.end();
  });

  it("ends a cancelled turn at once, and takes another prompt", async () => {
    await using user = await createKiroUser();
    const client = startAcp(user, WORKER);
    const { sessionId } = await client.begin();

    const long = client.prompt(sessionId, "[[say: Working.]] [[sleep 600000]]");
    await client.until("session/update");
    client.notify("session/cancel", { sessionId });

    expect((await long).result).toEqual({ stopReason: "cancelled" });
    expect((await client.prompt(sessionId, "Still there?")).result).toEqual({ stopReason: "end_turn" });
    await client.end();
  });

  it("answers throttling with an error", async () => {
    await using user = await createKiroUser();
    const client = startAcp(user, WORKER);
    const { sessionId } = await client.begin();

    const { error } = await client.prompt(sessionId, "[[fault throttle]]");

    expect(error).toMatchObject({ code: -32_603, data: expect.stringMatching(/rate limit reached/) });
    await client.end();
  });

  it("dies of a crash with its exit code", async () => {
    await using user = await createKiroUser();
    const client = startAcp(user, WORKER);
    const { sessionId } = await client.begin();

    await client.prompt(sessionId, "[[fault crash]]");

    expect(await client.end()).toMatchObject({ exitCode: 101, stderr: expect.stringContaining("panicked") });
  });

  it("of an older version ends without a login", async () => {
    await using user = await createKiroUser({ login: false });

    expect(await startAcp(user, WORKER).end()).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("You are not logged in"),
    });
  });

  it("of a newer version begins no session without a login", async () => {
    await using user = await createKiroUser({ login: false });
    const client = startAcp(user, WORKER, { profile: "v2late" });
    const { error } = await client.request("session/new", { cwd: user.work, mcpServers: [] });

    expect(error).toMatchObject({ code: -32_000 });
    await client.end();
  });
});
