import { describe, expect, it } from "vitest";
import { toReply } from "../../src/fake-llm/to-reply.ts";

const PROMPT = '[[tool @shell/sh: {"script":"true"}]] [[results]]';
const parameters = {};
const SEARCH = { name: "tool_search", parameters };

/** Returns the reply of the model to a prompt that names a tool of an MCP server. */
function replyTo(tools: Parameters<typeof toReply>[0]["tools"], ...toolResults: readonly string[]) {
  return toReply({ prompts: [PROMPT], toolResults, tools });
}

describe("a model that is told to use a tool of an MCP server", () => {
  it.each([
    { name: "mcp__shell__sh", parameters },
    { name: "shell_sh", parameters },
    { name: "sh", namespace: "mcp__shell__", parameters },
  ])("calls it by the name that its program made: $name", (tool) => {
    const { name, namespace } = tool;

    expect(replyTo([{ name: "sh", parameters }, tool])).toEqual({
      kind: "call",
      name,
      namespace,
      arguments: { script: "true" },
    });
  });

  it("says its result, and that there is no such tool", () => {
    expect(replyTo([{ name: "shell_sh", parameters }], "done")).toEqual({ kind: "text", text: "done" });
    expect(replyTo([{ name: "shell_other", parameters }])).toEqual({ kind: "text", text: "I have no tool @shell/sh." });
  });

  it("searches for it where its program has a search", () => {
    const query = { kind: "call", name: "tool_search", arguments: { query: "select:mcp__shell__sh" } };
    expect(replyTo([SEARCH])).toEqual(query);
    expect(replyTo([SEARCH, { name: "mcp__shell__sh", parameters }], "<functions>")).toMatchObject({
      name: "mcp__shell__sh",
    });
    expect(replyTo([SEARCH], "Not found: mcp__shell__sh")).toMatchObject({ text: "I have no tool @shell/sh." });
  });
});
