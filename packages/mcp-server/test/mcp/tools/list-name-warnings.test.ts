import { describe, expect, it } from "vitest";
import { listNameWarnings } from "../../../src/mcp/tools/list-name-warnings.ts";
import { buildTools } from "../../../src/mcp/tools/build-tools.ts";
import { createAgent, TOOL_OPTIONS } from "../../../../cli/test/helpers/create-agent.ts";

function toWarnings(length: number, toolNames: "dotted" | "safe"): readonly string[] {
  return listNameWarnings(
    buildTools([createAgent("x".repeat(length - 2))], { ...TOOL_OPTIONS, toolPrefix: "p.", toolNames }),
  );
}

describe("listNameWarnings", () => {
  it.each(["dotted", "safe"] as const)("does not warn of names that all clients accept (%s)", (toolNames) => {
    expect(toWarnings(52, toolNames)).toEqual([]);
  });

  it.each([53, 64])("warns that Cursor refuses a name of %s characters", (length) => {
    const [dotted, ...more] = toWarnings(length, "dotted");

    expect(dotted).toMatch(/^The tool name "p\.x+" is longer than 52 characters, and Cursor leaves out tools/);
    expect(more).toEqual([]);
    expect(toWarnings(length, "safe")).toEqual([expect.stringMatching(/^The tool name "p_x+" is longer than 52 /)]);
  });

  it.each([65, 128])("warns of clients with a limit of 64 for a name of %s", (length) => {
    expect(toWarnings(length, "dotted")).toEqual([
      `The tool name "p.${"x".repeat(length - 2)}" is longer than 64 characters, and Claude Desktop, Kiro and the OpenAI API ` +
        "refuse such names. Shorten the agent's name, or --tool-prefix, or use --tool-names safe.",
    ]);
  });

  it("gives the full name of a truncated one", () => {
    expect(toWarnings(65, "safe")).toEqual([
      expect.stringMatching(
        /^The tool "p_x{53}_[0-9a-f]{8}" is short for "p\.x{63}", since --tool-names safe allows 64 /,
      ),
    ]);
  });
});
