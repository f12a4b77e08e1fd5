import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failureOf } from "@budgie/testkit";
import { createKiroPlace } from "../../../../protocols/test/kiro/kiro-place.ts";

describe("a turn", () => {
  it("reports its changes to files that the host runs", async () => {
    const { runTurn, workspace } = createKiroPlace();
    const prompt = "[[write .vscode/tasks.json: x]] [[write src/a.ts: x]]";

    const reply = await runTurn({ agent: "tester", prompt, directory: workspace });

    expect(reply).toMatchObject({ changedExecutablePaths: [".vscode/tasks.json"], warnings: [] });
  });

  it("reports no changes of an earlier one", async () => {
    const { runTurn, workspace } = createKiroPlace();
    const turn = { agent: "tester", directory: workspace };
    const { sessionId } = await runTurn({ ...turn, prompt: "[[write .envrc: x]]" });

    const reply = await runTurn({ ...turn, prompt: "[[write .envrc: x]]", sessionId });

    expect(reply.changedExecutablePaths).toEqual([]);
  });

  it("reports them when it fails too", async () => {
    const { runTurn, workspace } = createKiroPlace();
    const prompt = "[[write .envrc: x]] [[fault kill-self]]";

    const failure = await failureOf(runTurn({ agent: "tester", prompt, directory: workspace }));

    expect(failure).toMatchObject({ code: "INDETERMINATE", report: { changedExecutablePaths: [".envrc"] } });
  });

  it("protects nothing without a sandbox, and refuses to pretend otherwise", async () => {
    const { calls, runTurn, workspace } = createKiroPlace({ protectExecutablePaths: true });
    mkdirSync(join(workspace, ".vscode"));

    const failure = await failureOf(runTurn({ agent: "tester", prompt: "x", directory: workspace }));

    expect(failure).toMatchObject({ code: "CONFIG_INVALID" });
    expect(calls()).toEqual([]);
  });
});
