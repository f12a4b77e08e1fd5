import { describe, expect, it } from "vitest";
import { isAlive } from "@budgie/testkit";
import { callLong, LATER, SOON } from "./call-long.ts";
import { createBudgieUser, toText, waitFor } from "../../../../cli/test/helpers/start-budgie.ts";

describe("a call whose agent has not finished by the soft deadline", () => {
  it("is answered with what to do, while the agent continues", async () => {
    await using user = await createBudgieUser();
    const budgie = await user.serve({ args: SOON });

    const result = await budgie.ask("shell-worker", { prompt: "[[sleep 60000]]" });

    const { runId } = result.structuredContent ?? {};
    expect(result.isError).toBe(false);
    expect(result.structuredContent).toMatchObject({
      status: "running",
      runId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      agent: "shell-worker",
      elapsedMs: expect.any(Number),
    });
    expect(toText(result)).toContain(`call kiro-subagents.wait with runId "${String(runId)}"`);
    const agent = await waitFor(() => user.kiroCalls()[0]);
    expect(isAlive(agent.pid)).toBe(true);
  });

  it("has its answer from wait, the same as from the call, any number of times", async () => {
    await using user = await createBudgieUser();
    const budgie = await user.serve({ args: SOON });
    const { askToEnd, begin, collect, openGate, use } = callLong(user, budgie);
    const { runId, sessionId } = await begin("[[say: It took long.]]");

    const early = await use("wait", { runId, seconds: 0.1 });
    openGate();
    const [first, second] = [await collect(runId), await use("wait", { runId })];

    expect(early.structuredContent).toMatchObject({ status: "running", runId });
    expect(first.content).toMatchObject([{ text: "It took long." }, { text: expect.stringContaining(sessionId) }]);
    const short = await askToEnd({ prompt: "[[say: It took long.]]" });
    expect(Object.keys(first.structuredContent ?? {})).toEqual(Object.keys(short.structuredContent ?? {}));
    expect(first.structuredContent).toMatchObject({ status: "done", runId, sessionId, response: "It took long." });
    expect(second).toEqual(first);
  });

  it("has its failure from wait", async () => {
    await using user = await createBudgieUser();
    const { begin, collect } = callLong(user, await user.serve({ args: [...SOON, "--retry", "never"] }));
    const { runId, sessionId } = await begin("", { timeout: "4s" });

    const last = await collect(runId);

    expect(last).toMatchObject({ isError: true, structuredContent: { code: "TIMED_OUT", sessionId } });
    expect(toText(last)).toMatch(/^TIMED_OUT: /);
  });

  it("reports progress to the caller of wait, and continues when that caller stops waiting", async () => {
    await using user = await createBudgieUser();
    const budgie = await user.serve({ args: [...LATER, "--heartbeat", "100ms"] });
    const { begin, collect, openGate } = callLong(user, budgie);
    const { runId } = await begin("[[say: It took long.]]");
    const told: (string | undefined)[] = [];
    const giveUp = new AbortController();

    const wait = budgie.client.callTool({ name: "kiro-subagents.wait", arguments: { runId } }, undefined, {
      signal: giveUp.signal,
      onprogress: ({ message }) => void told.push(message),
    });
    await waitFor(() => told.length > 2);
    giveUp.abort("enough");
    await expect(wait).rejects.toThrow("enough");
    openGate();

    expect(told.every((message) => /^shell-worker: running \d+s$/.test(message ?? ""))).toBe(true);
    expect(toText(await collect(runId))).toBe("It took long.");
  });

  it("is listed by status, with others that wait", async () => {
    await using user = await createBudgieUser();
    const { begin, collect, openGate, use } = callLong(
      user,
      await user.serve({ args: [...SOON, "--max-concurrent", "1"] }),
    );
    const first = await begin("[[say: one]]");
    const second = await begin("[[say: two]]");

    const [all, one] = [await use("status", {}), await use("status", { runId: second.runId })];
    openGate();
    await collect(second.runId);
    const after = await use("status", {});

    const waiting = { runId: second.runId, status: "running", agent: "shell-worker", phase: "waiting", position: 1 };
    expect(all.structuredContent?.["runs"]).toMatchObject([
      { runId: first.runId, sessionId: first.sessionId, status: "running", phase: "running", tries: 1 },
      waiting,
    ]);
    expect(one.structuredContent?.["runs"]).toMatchObject([waiting]);
    expect(toText(one)).toMatch(/shell-worker: waiting, 1st in line/);
    expect(after.structuredContent?.["runs"]).toMatchObject([
      { runId: first.runId, status: "done" },
      { runId: second.runId, status: "done" },
    ]);
  });

  it("is stopped by cancel, which answers when the agent has ended", async () => {
    await using user = await createBudgieUser();
    const { agent, begin, use } = callLong(user, await user.serve({ args: LATER }));
    const { runId, sessionId } = await begin("");
    const { pid } = await agent();

    const result = await use("cancel", { runId });

    expect(isAlive(pid)).toBe(false);
    expect(result.isError).toBe(false);
    expect(result.structuredContent).toEqual({
      status: "cancelled",
      runId,
      sessionId,
      agent: "shell-worker",
      directory: user.workspace,
      durationMs: expect.any(Number),
      filesChanged: 0,
    });
    expect(await use("wait", { runId })).toMatchObject({ isError: true, structuredContent: { code: "CANCELLED" } });
    const status = await use("status", { runId });
    expect(status.structuredContent?.["runs"]).toMatchObject([{ runId, status: "cancelled", code: "CANCELLED" }]);
    expect(toText(status)).toContain("shell-worker: cancelled");
  });

  it("keeps its answer after a cancel that comes too late", async () => {
    await using user = await createBudgieUser();
    const { begin, openGate, use } = callLong(user, await user.serve({ args: SOON }));
    const { runId } = await begin("[[say: It took long.]]");
    openGate();
    await waitFor(async () => toText(await use("status", {})).includes("finished"));

    expect(toText(await use("cancel", { runId }))).toBe("It took long.");
  });

  it("ends with its client", async () => {
    await using user = await createBudgieUser();
    const budgie = await user.serve({ args: SOON });
    const { agent, begin } = callLong(user, budgie);
    await begin("");
    const { pid } = await agent();

    budgie.stdin.end();

    expect(await budgie.ended).toEqual({ exitCode: 0, signal: null });
    expect(isAlive(pid)).toBe(false);
  });
});

describe("a call that is cancelled before its soft deadline", () => {
  it("ends its agent", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve({ args: ["--soft-deadline", "60s"] });
    const cancelling = new AbortController();

    const answer = ask("reader", { prompt: "[[sleep 60000]]" }, cancelling.signal);
    const agent = await waitFor(() => user.kiroCalls()[0]);
    cancelling.abort("changed my mind");

    await expect(answer).rejects.toThrow("changed my mind");
    await waitFor(() => !isAlive(agent.pid));
  });
});
