import { describe, expect, it } from "vitest";
import { toToolResult } from "../../src/server/tool-result.ts";

describe("the result of a tool", () => {
  it("is its parts, its data, and its word of failure", () => {
    const content = [
      { type: "text", text: "a" },
      { type: "new", x: 1 },
    ];

    expect(toToolResult("a", { content, structuredContent: { n: 1 }, isError: "no", extra: 1 })).toEqual({
      content,
      structuredContent: { n: 1 },
      isError: false,
    });
    expect(toToolResult("a", { isError: true })).toEqual({ content: [], isError: true });
  });

  it.each<[string, Readonly<Record<string, unknown>>]>([
    ["that is no list", { content: "x" }],
    ["of no parts", { content: [1] }],
    ["of parts without a type", { content: [{ text: "x" }] }],
    ["of more than 1,000 parts", { content: Array.from({ length: 1001 }, () => ({ type: "text", text: "" })) }],
    ["of a million wrong parts", { content: Array.from({ length: 1_000_000 }, () => 1) }],
  ])("is an error with content %s", (_, result) => {
    expect(() => toToolResult("a", result)).toThrow('The MCP server "a" returned a result that is not valid MCP.');
  });
});
