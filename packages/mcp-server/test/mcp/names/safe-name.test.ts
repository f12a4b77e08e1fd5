import { describe, expect, it } from "vitest";
import { toSafeName } from "../../../src/mcp/names/tool-name.ts";

describe("toSafeName", () => {
  it.each([
    ["kiro-subagents.code-reviewer", "kiro_subagents_code_reviewer"],
    ["My.Agents.x", "my_agents_x"],
    ["9lives", "a9lives"],
    ["-x", "a_x"],
    ["", "a"],
    ["a".repeat(64), "a".repeat(64)],
  ])("turns %j into %j", (name, expected) => {
    expect(toSafeName(name)).toBe(expected);
  });

  it.each([65, 128, 300])("truncates a name of %s characters to 64, always in the same way", (length) => {
    const name = `p.${"x".repeat(length - 2)}`;

    expect(toSafeName(name)).toMatch(/^p_x{53}_[0-9a-f]{8}$/);
    expect(toSafeName(name)).toBe(toSafeName(name));
  });

  it("distinguishes long names with the same beginning", () => {
    const names = ["a", "b"].map((end) => toSafeName("x".repeat(80) + end));

    expect(new Set(names).size).toBe(2);
  });
});
