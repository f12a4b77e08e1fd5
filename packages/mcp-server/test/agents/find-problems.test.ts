import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { findProblems } from "../../src/agents/find-problems.ts";
import { createAgent } from "../../../cli/test/helpers/create-agent.ts";

it("names in one line an agent's files that a sandbox does not show, and none without a sandbox", () => {
  const home = mkdtempSync(join(tmpdir(), "budgie-problems-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const named = ["../a.md", "../b.md"].map((path) => ({ uri: `file://${path}`, path, of: "resources" }) as const);
  const offer = { agents: [{ ...createAgent("reviewer"), named }, createAgent("writer")], tools: [] };
  const promptsDir = join(home, ".kiro/sub-agents/prompts");

  expect(findProblems(offer, { promptsDir, sandbox: true }, { home })).toEqual([
    expect.stringMatching(/^A sandbox does not show all that the agent "reviewer" names: .*a\.md" .*b\.md" /),
  ]);
  expect(findProblems(offer, { promptsDir, sandbox: false }, { home })).toEqual([]);
});
