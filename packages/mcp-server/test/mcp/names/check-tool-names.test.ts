import { describe, expect, it } from "vitest";
import type { Agent } from "@budgie/core";
import { checkToolNames } from "../../../src/mcp/names/check-tool-names.ts";
import type { NamingOptions } from "../../../src/config/naming-options.ts";
import { createAgent } from "../../../../cli/test/helpers/create-agent.ts";

const DOTTED: NamingOptions = { toolPrefix: "p.", toolNames: "dotted", tools: "agents" };

const toAgents = (...names: readonly string[]): readonly Agent[] => {
  return names.map((name, index) => createAgent(name, { file: `/a/${index}.json` }));
};

describe("checkToolNames", () => {
  it.each([
    [
      "two agents whose names are the same once normalised",
      ["Code Reviewer", "code-reviewer"],
      'The agents "Code Reviewer" (/a/0.json) and "code-reviewer" (/a/1.json) would both be the tool "p.code-reviewer". ' +
        "Rename one of them.",
    ],
    [
      "two that are the same if all but letters and digits becomes _",
      ["a-b", "a_b"],
      'The agents "a-b" (/a/0.json) and "a_b" (/a/1.json) would be the tools "p.a-b" and "p.a_b", and a client that puts ' +
        '"_" for all but letters and digits (such as Gemini CLI or Roo Code, and --tool-names safe) would not tell them ' +
        "apart. Rename one of them.",
    ],
    [
      "two that are the same if it is deleted",
      ["a-b", "ab"],
      'The agents "a-b" (/a/0.json) and "ab" (/a/1.json) would be the tools "p.a-b" and "p.ab", and Kiro, which deletes all ' +
        'but letters, digits and "_", would not tell them apart. Rename one of them.',
    ],
    [
      "two that are the same if _ is deleted too",
      ["a_b", "ab"],
      'The agents "a_b" (/a/0.json) and "ab" (/a/1.json) would be the tools "p.a_b" and "p.ab", and a client that deletes ' +
        "all but letters and digits would not tell them apart. Rename one of them.",
    ],
    [
      "an agent with the name of budgie's own tool",
      ["Health-Check"],
      'The agent "Health-Check" (/a/0.json) would take the name of budgie\'s own tool "p.health-check". Rename it.',
    ],
    [
      "an agent that a client would confuse with budgie's own tool",
      ["healthcheck"],
      'The agent "healthcheck" (/a/0.json) would be the tool "p.healthcheck", and Kiro, which deletes all but letters, ' +
        'digits and "_", would take it for budgie\'s own tool "p.health-check". Rename it.',
    ],
    [
      "a name that MCP does not allow",
      ["a".repeat(127)],
      `The agent "${"a".repeat(127)}" (/a/0.json) would be a tool with a name of 129 characters, and MCP allows 128. ` +
        "Rename it, shorten --tool-prefix, or use --tool-names safe.",
    ],
  ])("refuses %s", (_what, names, message) => {
    expect(() => checkToolNames(toAgents(...names), DOTTED)).toThrow(
      expect.objectContaining({ code: "CONFIG_INVALID", message }),
    );
  });

  it.each(["health-check", "wait", "status", "Cancel", "list_agents", "invoke-agent"])(
    "reserves the name %s for budgie in every spelling and mode, even if it is not offered",
    (name) => {
      for (const toolNames of ["dotted", "safe"] as const) {
        for (const tools of ["agents", "both"] as const) {
          const options = { toolPrefix: "", toolNames, tools };

          expect(() => checkToolNames(toAgents(name), options)).toThrow(/budgie's own tool/);
        }
      }
    },
  );

  it.each([
    ["a-b", "a_b"],
    ["a-b", "ab"],
    ["a_b", "ab"],
    ["a.b", "A b"],
    ["9x", "a9x"],
  ])("refuses %s beside %s in either spelling", (...names) => {
    for (const toolNames of ["dotted", "safe"] as const) {
      expect(() => checkToolNames(toAgents(...names), { ...DOTTED, toolPrefix: "", toolNames })).toThrow(/apart|both/);
    }
  });

  it.each(["dotted", "safe"] as const)("accepts agents that every client can tell apart (%s)", (toolNames) => {
    const agents = toAgents("code-reviewer", "code-reviewer-2", "reader", "list_agents2", "waiter", "größe", "grosse");

    expect(() => checkToolNames(agents, { ...DOTTED, toolNames })).not.toThrow();
  });

  it("accepts a name of any length if names are truncated", () => {
    expect(() => checkToolNames(toAgents("a".repeat(200)), { ...DOTTED, toolNames: "safe" })).not.toThrow();
  });

  it("accepts agents without tools, unless two have the same name", () => {
    const router: NamingOptions = { ...DOTTED, tools: "router" };

    expect(() => checkToolNames(toAgents("a-b", "ab", "wait", "a".repeat(200)), router)).not.toThrow();
    expect(() => checkToolNames(toAgents("a", "a"), router)).toThrow(
      '"/a/0.json" and "/a/1.json" both are the agent "a". Rename one of them.',
    );
  });
});
