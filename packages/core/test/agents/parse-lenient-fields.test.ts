import { describe, expect, it } from "vitest";
import { parseLenientFields } from "../../src/agents/parse-lenient-fields.ts";

describe("parseLenientFields", () => {
  it.each<readonly [string, string, Readonly<Record<string, unknown>>]>([
    [
      "a colon in the description",
      "description: sub-agent: Reviews: all\nmodel: m",
      { description: "sub-agent: Reviews: all" },
    ],
    [
      "examples below the description",
      'description: Use it. Examples:\n\n<example>\nuser: "Do it: now"\n</example>\nmodel: m',
      { description: 'Use it. Examples:\n\n<example>\nuser: "Do it: now"\n</example>' },
    ],
    [
      "quotes within quotes",
      'description: "sub-agent: Says "hello""\nmodel: m',
      { description: 'sub-agent: Says "hello"' },
    ],
    ["a bare star", "tools: *\nmodel: m", { tools: "*" }],
    ["a bare tag", "tools: @mcp, @git/log\nmodel: m", { tools: "@mcp, @git/log" }],
    ["tabs", "tools:\n\t- Read\nmodel: m", { tools: ["Read"] }],
    ["unknown keys", "model: m\nfoo: 1\ndescription: a: b", { foo: 1, description: "a: b" }],
  ])("reads frontmatter with %s, which is no YAML", (_what, yaml, fields) => {
    expect(parseLenientFields(yaml)).toEqual({ ...fields, model: "m" });
  });

  it.each(['"excludedTools"', "'excludedTools'", "excludedTools "])("takes %s for a field of its own", (key) => {
    const fields = parseLenientFields(`description: sub-agent: Reviews: all\n${key}: [shell]\ntools: [read, shell]`);

    expect(fields).toEqual({
      description: "sub-agent: Reviews: all",
      excludedTools: ["shell"],
      tools: ["read", "shell"],
    });
  });

  it.each([
    ["a key twice", "description: a: b\ntools: read\ntools: write"],
    ["rules that are no YAML", "description: a: b\npermissions: {rules: [}"],
    ["tools that need no approval", "allowedTools:\n  - read\n  # - shell\n - write"],
    ["tools with a comment", "tools:\n  - read\n  # - shell\n - write"],
    ["an unclosed list of tools", "tools: [read, # shell,\n grep"],
    ["text without a key", "- x: [\ndescription: a: b"],
  ])("gives up on %s", (_what, yaml) => {
    expect(parseLenientFields(yaml)).toBeUndefined();
  });
});
