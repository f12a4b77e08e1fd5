import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadAgents } from "@budgie/core";
import { inspectHarnesses } from "../../../src/commands/findings/inspect-harnesses.ts";

const GUARD = [{ trigger: "PreToolUse", command: "guard" }];

let agentsDir: string;
beforeEach(() => {
  agentsDir = mkdtempSync(join(tmpdir(), "budgie-agents-"));
  mkdirSync(join(agentsDir, "team"));
  write("two.json", { description: "sub-agent: Of Kiro 2" });
  write("three.md", "---\ndescription: 'sub-agent: Of Kiro 3'\n---\nYou plan.\n");
  write("team/planner.md", "---\ndescription: 'sub-agent: In a folder'\n---\nYou plan.\n");
  write("mine.md", "---\ndescription: Not for budgie\n---\nYou plan.\n");
  write("half.json", { description: "sub-agent: Upgraded", permissions: { rules: [] } });
  write("half.json.bak", { description: "sub-agent: Upgraded" });
  write("whole.json", { description: "sub-agent: Upgraded, too", permissions: { rules: [] }, hooks: GUARD });
  write("gone.json.bak", { description: "sub-agent: Lost" });
});
afterEach(() => rmSync(agentsDir, { recursive: true }));

function write(name: string, content: unknown): void {
  writeFileSync(join(agentsDir, name), typeof content === "string" ? content : JSON.stringify(content));
}

function inspect(kiroHarness: "v2" | "v3"): readonly string[] {
  const loaded = loadAgents({ agentsDir, promptsDir: join(agentsDir, "none") });
  const findings = inspectHarnesses(loaded, { agentsDir, kiroHarness });
  expect(findings.every(({ what }) => what === "agents")).toBe(true);
  return findings.map(({ state, text }) => `${state} ${text}`);
}

const ORPHAN = 'note "gone.json.bak" has no "gone.json" beside it, as after an interrupted upgrade of Kiro\'s';

describe("inspectHarnesses", () => {
  it("says which agents need which harness, and what an upgrade left", () => {
    expect(inspect("v2")).toEqual([
      "ok Markdown, which V2 gets as JSON: three, team/planner",
      'ok upgraded by a later Kiro, so V2 gets a copy without "permissions": half (before: half.json.bak), whole',
      expect.stringMatching(/^note whole needs V2: its hooks guard its tools/),
      ORPHAN,
    ]);
  });

  it("fails for agents that V3 must not run, if that is to run them", () => {
    expect(inspect("v3")).toEqual([expect.stringMatching(/^failed whole needs V2: its hooks guard/), ORPHAN]);
  });

  it("says nothing of agents that any Kiro runs", () => {
    for (const name of ["three.md", "team/planner.md", "half.json", "half.json.bak", "whole.json", "gone.json.bak"]) {
      rmSync(join(agentsDir, name));
    }

    expect(inspect("v2")).toEqual([]);
  });
});
