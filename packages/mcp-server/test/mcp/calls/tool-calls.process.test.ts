import { realpathSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createBudgieUser, toText } from "../../../../cli/test/helpers/start-budgie.ts";

describe("tools/call", () => {
  it("answers an unknown tool with a protocol error", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve();

    const answer = ask("nobody", { prompt: "Hello" });

    await expect(answer).rejects.toMatchObject({
      code: -32602,
      message: 'MCP error -32602: There is no tool "kiro-subagents.nobody".',
    });
  });

  it("answers with text for the model and structured content for the program", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve();

    const { content, isError, structuredContent } = await ask("code-reviewer", {
      prompt: "Hello",
      __tool_use_purpose: "to greet",
    });

    expect(isError).toBe(false);
    const session = `\n\n[budgie] To resume this conversation, pass sessionId "${String(structuredContent?.["sessionId"])}".\n`;
    expect(content).toEqual([
      { type: "text", text: "You asked: Hello" },
      { type: "text", text: expect.stringMatching(/\n\[budgie\] code-reviewer: done in [\d.]+ m?s.*$/) },
    ]);
    expect(JSON.stringify(content[1])).toContain(JSON.stringify(session).slice(1, -1));
    expect(structuredContent).toEqual({
      status: "done",
      response: "You asked: Hello",
      runId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      sessionId: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      agent: "code-reviewer",
      directory: realpathSync(user.workspace),
      isolation: "none",
      durationMs: expect.any(Number),
      exit: { exitCode: 0, oomKilled: false },
      retried: false,
      usage: { credits: 0.01, model: "claude-sonnet-4.5" },
      filesChanged: 0,
    });
  });

  it.each([
    ["code-reviewer", { prompt: "[[fault silent]]" }, "AGENT_FAILED"],
    ["code-reviewer", { prompt: "Hello", typo: 1 }, "INPUT_INVALID"],
    ["health-check", {}, "INPUT_INVALID"],
  ])("passes an error of %s to a client that validates answers by the tools' schemas", async (agent, input, code) => {
    await using user = await createBudgieUser();
    const { ask, client } = await user.serve();
    // From here on, the client has the schemas.
    await client.listTools();

    const { isError, structuredContent } = await ask(agent, input);

    expect(isError).toBe(true);
    expect(structuredContent).toMatchObject({ code });
  });

  it("reports on the agents' health", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve();
    await ask("code-reviewer", { prompt: "Hello" });
    await ask("code-reviewer", { prompt: "[[fault silent]]" });

    const { structuredContent } = await ask("health-check", { directory: undefined });
    const { agents, ...rest } = structuredContent as Record<string, readonly unknown[]>;

    expect(rest).toEqual({
      isolation: "none",
      overall: { totalCalls: 2, successCalls: 1, successRate: "50.0%" },
    });
    expect(agents).toContainEqual({
      agent: "code-reviewer",
      totalCalls: 2,
      successCalls: 1,
      failedCalls: 1,
      timeoutCalls: 0,
      cancelledCalls: 0,
      successRate: "50.0%",
      avgDurationMs: expect.any(Number),
      p50DurationMs: expect.any(Number),
      p95DurationMs: expect.any(Number),
      lastSuccess: expect.stringMatching(/^\d{4}-.*Z$/),
      lastFailure: expect.stringMatching(/^\d{4}-.*Z$/),
      lastError: expect.stringMatching(/^AGENT_FAILED: /),
    });
  });

  it("writes the health report as text, with durations to read", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve();
    await ask("code-reviewer", { prompt: "Hello" });

    const result = await ask("health-check", { directory: undefined });

    expect(JSON.parse(toText(result))).toMatchObject({
      overall: { totalCalls: 1 },
      agents: expect.arrayContaining([
        expect.objectContaining({ agent: "code-reviewer", avgDuration: expect.stringMatching(/^[\d.]+m?s$/) }),
      ]),
    });
  });
});
