import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failureOf, isAlive } from "@budgie/testkit";
import { isSessionId } from "@budgie/core";
import { WITHOUT_SESSION } from "../../helpers/without-session.ts";
import { createKiroPlace } from "../../../../protocols/test/kiro/kiro-place.ts";

describe("a turn with a real agent process", () => {
  it("returns the answer and the facts about its turn", async () => {
    const { runTurn, workspace } = createKiroPlace();

    const reply = await runTurn({ agent: "tester", prompt: "[[say: Hello.]]", directory: workspace });

    expect(reply).toEqual({
      response: "Hello.",
      runId: expect.any(String),
      sessionId: expect.toSatisfy(isSessionId),
      agent: "tester",
      directory: workspace,
      isolation: "none",
      durationMs: expect.any(Number),
      exit: { exitCode: 0, signal: undefined, reason: undefined, oomKilled: false },
      retried: false,
      denied: [],
      changedExecutablePaths: [],
      changedFiles: { files: 0, first: [], more: 0 },
      egress: undefined,
      usage: { credits: 0.01 },
      missed: [],
      warnings: [],
    });
    expect(reply.durationMs).toBeGreaterThan(0);
  });

  it("resumes a session with its conversation", async () => {
    const { calls, runTurn, workspace } = createKiroPlace();
    const turn = { agent: "tester", directory: workspace };

    const { sessionId } = await runTurn({ ...turn, prompt: "Remember token-apple." });
    const { response } = await runTurn({ ...turn, prompt: "[[recall]]", sessionId });
    const other = await runTurn({ ...turn, prompt: "[[recall]]" });

    expect({ response, other: other.response }).toEqual({ response: "token-apple", other: "I remember nothing." });
    expect(calls().map(({ argv }) => argv.includes("--resume"))).toEqual([false, true, false]);
    expect(other.sessionId).not.toBe(sessionId);
  });

  it("uses the same session for two names of one directory", async () => {
    const { home, runTurn, workspace } = createKiroPlace();
    symlinkSync(workspace, join(home, "link"));

    const { sessionId } = await runTurn({ agent: "tester", prompt: "x", directory: workspace });
    const again = await runTurn({ agent: "tester", prompt: "x", directory: join(home, "link"), sessionId });

    expect(again.sessionId).toBe(sessionId);
  });

  it("retries a crashed agent, and reports it", async () => {
    const { calls, health, runTurn, workspace } = createKiroPlace();

    const reply = await runTurn({
      agent: "tester",
      prompt: "[[fault-once crash]] [[say: Well.]]",
      directory: workspace,
    });

    expect(reply).toMatchObject({ response: "Well.", retried: true });
    expect(calls()).toHaveLength(2);
    expect((await health()).overall).toMatchObject({ totalCalls: 1, successCalls: 1 });
  });

  it("fails after the second crash, and the session can be resumed", async () => {
    const { calls, runTurn, workspace } = createKiroPlace();
    const turn = { agent: "tester", directory: workspace };

    const error = await failureOf(runTurn({ ...turn, prompt: "[[fault kill-self]]" }));
    expect(error).toMatchObject({ code: "AGENT_CRASHED", message: expect.stringContaining("killed by SIGKILL") });
    expect(calls()).toHaveLength(2);

    const reply = await runTurn({ ...turn, prompt: "[[say: Back.]]", sessionId: error.report.sessionId });
    expect(reply).toMatchObject({ response: "Back.", sessionId: error.report.sessionId, retried: false });
  });

  it("stops an agent after the timeout, twice, and leaves no process behind", async () => {
    const { calls, health, runTurn, workspace } = createKiroPlace({ timeoutMs: 3000 });

    const error = await failureOf(runTurn({ agent: "tester", prompt: "[[sleep 600000]]", directory: workspace }));

    expect(error).toMatchObject({ code: "TIMED_OUT", message: expect.stringContaining("within 3s") });
    expect(isSessionId(error.report.sessionId ?? "")).toBe(true);
    expect(calls().map(({ pid }) => isAlive(pid))).toEqual([false, false]);
    expect((await health()).agents).toMatchObject([{ totalCalls: 1, failedCalls: 1, timeoutCalls: 1 }]);
  });

  it("fails at once when an agent exits normally without an answer", async () => {
    const { calls, runTurn, workspace } = createKiroPlace();

    const error = await failureOf(runTurn({ agent: "tester", prompt: "[[fault silent]]", directory: workspace }));

    expect(error).toMatchObject({ code: "AGENT_FAILED", message: expect.stringContaining("without an answer") });
    expect(calls()).toHaveLength(1);
  });

  it("stops the agent of a turn that is cancelled", async () => {
    const { calls, health, runTurn, untilCalls, workspace } = createKiroPlace();
    const abort = new AbortController();

    const turn = runTurn(
      { agent: "tester", prompt: "[[sleep 600000]]", directory: workspace },
      { signal: abort.signal },
    );
    const failure = failureOf(turn);
    await untilCalls(1);
    abort.abort();

    expect(await failure).toMatchObject({ code: "CANCELLED", report: { sessionId: expect.toSatisfy(isSessionId) } });
    expect(calls().map(({ pid }) => isAlive(pid))).toEqual([false]);
    expect((await health()).agents).toMatchObject([{ cancelledCalls: 1, failedCalls: 0 }]);
  });

  it("starts no agent for a turn that is cancelled in the queue, and returns at once", async () => {
    const { calls, runTurn, untilCalls, workspace } = createKiroPlace();
    const abort = new AbortController();
    const turn = { agent: "tester", directory: workspace };
    const { sessionId } = await runTurn({ ...turn, prompt: "x" });

    let isFirstOver = false;
    const first = runTurn({ ...turn, prompt: "[[sleep 2000]] [[say: First.]]", sessionId });
    void first.then(() => (isFirstOver = true));
    const queued = failureOf(runTurn({ ...turn, prompt: "[[say: Second.]]", sessionId }, { signal: abort.signal }));
    await untilCalls(2);
    abort.abort();

    expect(await queued).toMatchObject({ code: "CANCELLED", report: { sessionId } });
    expect(isFirstOver).toBe(false);
    expect(await first).toMatchObject({ response: "First." });
    expect(calls()).toHaveLength(2);
  });

  it("leaves nothing behind of a turn that was cancelled before it began", async () => {
    const { calls, runTurn, sessionHomes, workspace } = createKiroPlace();
    const turn = runTurn({ agent: "tester", prompt: "x", directory: workspace }, { signal: AbortSignal.abort() });

    expect(await failureOf(turn)).toMatchObject({ code: "CANCELLED", report: WITHOUT_SESSION });
    expect(calls()).toEqual([]);
    expect(sessionHomes()).toEqual([]);
  });

  it("leaves nothing behind of a first turn whose program is missing", async () => {
    const { runTurn, sessionHomes, workspace } = createKiroPlace({ kiro: { binary: "no-such-kiro-cli" } });

    const error = await failureOf(runTurn({ agent: "tester", prompt: "x", directory: workspace }));

    expect(error).toMatchObject({ code: "COMMAND_NOT_FOUND", report: WITHOUT_SESSION });
    expect(error.message).toContain('"no-such-kiro-cli"');
    expect(sessionHomes()).toEqual([]);
  });

  it.each([
    ["first engine", { FAKE_KIRO_PROFILE: "q1" }],
    ["second engine", { FAKE_KIRO_PROFILE: "v2" }],
    ["newest versions", { FAKE_KIRO_STRICT_AGENT: "1" }],
  ])("refuses the answer of Kiro's default agent, and ends its session (%s)", async (_what, env) => {
    const { agentsDir, calls, runTurn, sessionHomes, workspace } = createKiroPlace({ env });
    rmSync(join(agentsDir, "tester.json"));

    const error = await failureOf(runTurn({ agent: "tester", prompt: "[[say: Mine.]]", directory: workspace }));

    // A resumed conversation would continue with the default agent, with its permissions and without a warning.
    expect(error).toMatchObject({ code: "AGENT_NOT_FOUND", report: WITHOUT_SESSION });
    expect(calls()).toHaveLength(1);
    expect(sessionHomes()).toEqual([]);
  });

  it.each([
    ["an invalid key", { KIRO_API_KEY: "invalid" }],
    ["a missing login", { KIRO_API_KEY: "", FAKE_KIRO_PROFILE: "q1" }],
    ["a missing login that it waited for", { KIRO_API_KEY: "" }],
  ])("reports %s, and the session can be resumed", async (_what, env) => {
    const { runTurn, workspace } = createKiroPlace({ env, timeoutMs: 3000 });

    const error = await failureOf(runTurn({ agent: "tester", prompt: "x", directory: workspace }));

    expect(error).toMatchObject({ code: "LOGIN_REQUIRED", report: { sessionId: expect.toSatisfy(isSessionId) } });
  });

  it("names the unknown model", async () => {
    const { calls, runTurn, workspace } = createKiroPlace({ kiro: { defaultModel: "gpt-0" } });

    const error = await failureOf(runTurn({ agent: "tester", prompt: "x", directory: workspace }));

    expect(error).toMatchObject({ code: "AGENT_FAILED" });
    expect(error.message).toContain("Model 'gpt-0' does not exist");
    expect(calls()).toHaveLength(1);
  });
});
