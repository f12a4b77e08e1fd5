import { describe, expect, it } from "vitest";
import { findAgent } from "../../src/agents/find-agent.ts";
import { createAgent } from "../helpers/create-agent.ts";

const AGENTS = [createAgent("code-reviewer"), createAgent("Writer of Tests"), createAgent("a.b"), createAgent("A-B")];
const OPTIONS = { agentsDir: "/agents", toolNames: "dotted", toolPrefix: "kiro-subagents." } as const;

describe("an agent's spelling", () => {
  it.each([
    ["code-reviewer", "code-reviewer"],
    ["CODE-Reviewer", "code-reviewer"],
    ["code_reviewer", "code-reviewer"],
    ["kiro-subagents.code-reviewer", "code-reviewer"],
    ["kiro_subagents_code_reviewer", "code-reviewer"],
    ["writer of tests", "Writer of Tests"],
    ["writer-of-tests", "Writer of Tests"],
    ["kiro_subagents_writer_of_tests", "Writer of Tests"],
    ["a.b", "a.b"],
    ["A-B", "A-B"],
  ])("%s finds %s", (spelling, name) => {
    expect(findAgent(AGENTS, spelling, OPTIONS).name).toBe(name);
    expect(findAgent(AGENTS, spelling, { ...OPTIONS, toolNames: "safe" }).name).toBe(name);
  });

  it.each([
    [
      "code-reveiwer",
      'There is no agent "code-reveiwer" in "/agents". Did you mean "code-reviewer"? "budgie list-tools"',
    ],
    ["code", 'Did you mean "code-reviewer"?'],
    ["nobody", 'There is no agent "nobody" in "/agents". "budgie list-tools" lists the agents.'],
    ["a_b", 'could be "a_b". Name one in full.'],
  ])("%s is refused with what was probably meant", (spelling, message) => {
    expect(() => findAgent(AGENTS, spelling, OPTIONS)).toThrow(
      expect.objectContaining({ code: "AGENT_NOT_FOUND", message: expect.stringContaining(message) }),
    );
  });
});
