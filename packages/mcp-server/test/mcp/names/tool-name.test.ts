import { describe, expect, it } from "vitest";
import { toToolName } from "../../../src/mcp/names/tool-name.ts";

const dotted = { toolPrefix: "kiro-subagents.", toolNames: "dotted" } as const;
const safe = { toolPrefix: "kiro-subagents.", toolNames: "safe" } as const;

describe("toToolName", () => {
  it.each([
    ["test-agent", "kiro-subagents.test-agent", "kiro_subagents_test_agent"],
    ["Code_Reviewer", "kiro-subagents.code_reviewer", "kiro_subagents_code_reviewer"],
    ["code reviewer 2.0", "kiro-subagents.code-reviewer-2-0", "kiro_subagents_code_reviewer_2_0"],
    ["@scope", "kiro-subagents.-scope", "kiro_subagents__scope"],
    ["größe", "kiro-subagents.gr--e", "kiro_subagents_gr__e"],
    ["a🦜b", "kiro-subagents.a-b", "kiro_subagents_a_b"],
  ])("turns %s into the tool %s, or the safe %s, and accepts the other one too", (agent, dottedName, safeName) => {
    expect(toToolName(agent, dotted)).toEqual({ name: dottedName, aliases: [safeName] });
    expect(toToolName(agent, safe)).toEqual({ name: safeName, aliases: [dottedName] });
  });

  it("uses another prefix as given", () => {
    expect(toToolName("Reader", { ...dotted, toolPrefix: "My." })).toEqual({
      name: "My.reader",
      aliases: ["my_reader"],
    });
  });
});
