import { describe, expect, it } from "vitest";
import type { Agent } from "@budgie/core";
import { toToolNames } from "../../src/mcp/tool-name.ts";

function createAgent(name: string, file = `/agents/${name}.json`): Agent {
  return { name, file, description: "An agent", promptFile: undefined, writesFiles: true, model: undefined };
}

describe("toToolNames", () => {
  it.each([
    ["test-agent", "kiro-subagents.test-agent"],
    ["Code_Reviewer", "kiro-subagents.code_reviewer"],
    ["code reviewer 2.0", "kiro-subagents.code-reviewer-2-0"],
    ["@scope", "kiro-subagents.-scope"],
    ["größe", "kiro-subagents.gr--e"],
    ["a🦜b", "kiro-subagents.a-b"],
  ])("makes %s the tool %s", (name, expected) => {
    const agent = createAgent(name);

    expect(toToolNames([agent], "kiro-subagents.").get(agent)).toBe(expected);
  });

  it("puts another prefix before the names as it is", () => {
    const agent = createAgent("Reader");

    expect(toToolNames([agent], "My.").get(agent)).toBe("My.reader");
  });

  it.each([
    [
      "two agents whose names are the same once normalised",
      [createAgent("Code Reviewer", "/a/1.json"), createAgent("code-reviewer", "/a/2.json")],
      'The agents "Code Reviewer" (/a/1.json) and "code-reviewer" (/a/2.json) would both be the tool "p.code-reviewer". ' +
        "Rename one of them.",
    ],
    [
      "an agent with the name of budgie's own tool",
      [createAgent("Health-Check")],
      'The agent "Health-Check" (/agents/Health-Check.json) would take the name of budgie\'s own tool "p.health-check". ' +
        "Rename it.",
    ],
    [
      "a name that MCP does not allow",
      [createAgent("a".repeat(127), "/a/1.json")],
      `The agent "${"a".repeat(127)}" (/a/1.json) would be a tool with a name of 129 characters, and MCP allows 128. ` +
        "Rename it, or shorten --tool-prefix.",
    ],
  ])("refuses %s", (_what, agents, message) => {
    expect(() => toToolNames(agents, "p.")).toThrow(expect.objectContaining({ code: "CONFIG_INVALID", message }));
  });
});
