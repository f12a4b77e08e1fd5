import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failureOf } from "@budgie/testkit";
import { createKiroPlace } from "../../../../protocols/test/kiro/kiro-place.ts";

const CRASH_ONCE = "[[fault-once crash]]";

describe("a turn whose first attempt fails", () => {
  it("is retried if the agent changed nothing, although the caller wrote to the workspace just before", async () => {
    const { calls, runTurn, workspace } = createKiroPlace();
    writeFileSync(join(workspace, "task.md"), "from the caller");

    const reply = await runTurn({ agent: "tester", prompt: `${CRASH_ONCE}[[say: Well.]]`, directory: workspace });

    expect(reply).toMatchObject({ response: "Well.", retried: true });
    expect(calls()).toHaveLength(2);
  });

  it("is not retried if the agent wrote a file, and names the file", async () => {
    const { calls, health, runTurn, workspace } = createKiroPlace();
    const prompt = `[[append src/a.ts: once]]${CRASH_ONCE}[[say: Well.]]`;

    const error = await failureOf(runTurn({ agent: "tester", prompt, directory: workspace }));

    expect(error).toMatchObject({
      code: "INDETERMINATE",
      report: { changedPaths: ["src/a.ts"] },
      cause: { code: "AGENT_CRASHED" },
    });
    expect(error.message).toMatch(
      /indeterminate.* changed during it: "src\/a\.ts"\. The agent "tester" ended with exit/,
    );
    expect(calls()).toHaveLength(1);
    expect(readFileSync(join(workspace, "src/a.ts"), "utf8")).toBe("once");
    expect((await health()).agents).toMatchObject([{ totalCalls: 1, failedCalls: 1, timeoutCalls: 0 }]);
  });

  it("can be continued in its session", async () => {
    const { calls, runTurn, workspace } = createKiroPlace();
    const turn = { agent: "tester", directory: workspace };
    const { sessionId } = await runTurn({ ...turn, prompt: "Remember token-pear." });
    const prompt = `[[append a.ts: once]]${CRASH_ONCE}`;
    const error = await failureOf(runTurn({ ...turn, prompt, sessionId }));

    const reply = await runTurn({ ...turn, prompt: "[[recall]]", sessionId: error.report.sessionId });

    expect(error).toMatchObject({ code: "INDETERMINATE", report: { sessionId } });
    expect(reply).toMatchObject({ response: "token-pear", sessionId });
    expect(calls()).toHaveLength(3);
  });

  it("counts as timed out if changes prevent the retry", async () => {
    const { calls, health, runTurn, workspace } = createKiroPlace({ timeoutMs: 6000 });
    const prompt = "[[write a.ts: x]][[sleep 600000]]";

    const error = await failureOf(runTurn({ agent: "tester", prompt, directory: workspace }));

    expect(error).toMatchObject({ code: "INDETERMINATE", message: expect.stringContaining("within 6s") });
    expect(calls()).toHaveLength(1);
    expect((await health()).agents).toMatchObject([{ failedCalls: 1, timeoutCalls: 1 }]);
  });

  it("is not retried if a background process of the agent wrote a file", async () => {
    const { runTurn, workspace } = createKiroPlace();
    const prompt =
      "[[run: (trap 'echo late >late; exit' TERM; sleep 600 & wait) >/dev/null 2>&1 &]] [[fault-once crash]]";

    const error = await failureOf(runTurn({ agent: "shell", prompt, directory: workspace }));

    expect(existsSync(join(workspace, "late"))).toBe(true);
    expect(error).toMatchObject({ code: "INDETERMINATE", report: { changedPaths: ["late"] } });
  });

  it("resumes the conversation in its second attempt", async () => {
    const { calls, runTurn, workspace } = createKiroPlace();
    const turn = { agent: "tester", directory: workspace };
    const { sessionId } = await runTurn({ ...turn, prompt: "Remember token-plum." });

    const reply = await runTurn({ ...turn, prompt: `${CRASH_ONCE}[[recall]]`, sessionId });

    expect(reply).toMatchObject({ response: "token-plum", retried: true });
    expect(calls().map(({ argv }) => argv.includes("--resume"))).toEqual([false, true, true]);
  });

  it("gives each attempt the whole time limit", async () => {
    const { calls, runTurn, workspace } = createKiroPlace({ timeoutMs: 3000 });
    const prompt = "[[fault-once slow-start 600000]][[say: Done.]]";

    const reply = await runTurn({ agent: "tester", prompt, directory: workspace });

    expect(reply).toMatchObject({ response: "Done.", retried: true });
    expect(calls()).toHaveLength(2);
  });

  it("is retried despite changes with --retry always", async () => {
    const { runTurn, workspace } = createKiroPlace({ retry: "always" });
    const prompt = `[[append a.ts: x]]${CRASH_ONCE}[[say: Well.]]`;

    expect(await runTurn({ agent: "tester", prompt, directory: workspace })).toMatchObject({ retried: true });
    expect(readFileSync(join(workspace, "a.ts"), "utf8")).toBe("xx");
  });

  it("fails with the first error with --retry never", async () => {
    const { calls, runTurn, workspace } = createKiroPlace({ retry: "never" });
    const turn = runTurn({ agent: "tester", prompt: CRASH_ONCE, directory: workspace });

    expect(await failureOf(turn)).toMatchObject({
      code: "AGENT_CRASHED",
      report: expect.not.objectContaining({ changedPaths: expect.anything() }),
    });
    expect(calls()).toHaveLength(1);
  });
});
