import { describe, expect, it } from "vitest";
import { parseAgentFile, listServerEntries } from "../../src/agents/agent-definition.ts";

describe("parseAgentFile", () => {
  it("returns a Markdown agent in the shape of Kiro's JSON", () => {
    const text = `---
description: "sub-agent: Reviews changes."
tools: [read, shell, "@mcp"]
permissions:
  rules:
    - {capability: shell, match: ["git diff *"], effect: allow}
mcpServers: { git: { command: git-mcp } }
welcomeMessage: Hello
---

You review changes.

---
Be brief.
`;

    expect(parse(text, "team/reviewer")).toMatchObject({
      format: "markdown",
      isLenient: false,
      definition: {
        name: "team/reviewer",
        description: "sub-agent: Reviews changes.",
        prompt: "You review changes.\n\n---\nBe brief.",
        tools: ["read", "shell", "@mcp"],
        permissions: { rules: [{ capability: "shell", match: ["git diff *"], effect: "allow" }] },
        mcpServers: { git: { command: "git-mcp" } },
        welcomeMessage: "Hello",
      },
    });
  });

  it("returns a JSON agent as it is written", () => {
    const fields = {
      name: "a",
      prompt: null,
      tools: ["fs_read", "*"],
      allowedTools: ["@git/*"],
      hooks: { stop: [] },
      toolsSettings: { x: 1 },
    };

    expect(parseJson(fields)?.definition).toEqual(fields);
  });

  it.each<readonly [string, unknown, string]>([
    ["planner", undefined, "planner"],
    ["team/planner", undefined, "team/planner"],
    ["team/planner", null, "team/planner"],
    ["planner", "architect", "architect"],
    ["team/planner", "architect", "team/architect"],
    ["team/planner", "team/planner", "team/planner"],
    ["planner", "other/architect", "other/architect"],
  ])("names the agent of %j with the name %j %j", (path, name, expected) => {
    expect(parseJson({ name }, path)?.definition.name).toBe(expected);
  });

  it.each(["..", "a/..", "../x", "-x", "", " ", ".x", "a//b", "a\nb"])("refuses the name %j", (name) => {
    expect(() => parseJson({ name }, "x/y/z")).toThrow(/^name: must not be empty, /);
  });

  it("takes a number of YAML as a name or a description", () => {
    expect(parse("---\nname: 7\ndescription: 2026\n---\n")?.definition).toMatchObject({
      name: "7",
      description: "2026",
    });
  });

  it.each<readonly [string, string, readonly string[]]>([
    ["a list", "tools: [Read, Grep]", ["read"]],
    ["a block list", "tools:\n  - Read\n  - Bash(git diff)", ["read", "shell"]],
    ["text with commas", "tools: Read, Grep, Bash(git diff, git log)", ["read", "shell"]],
    ["text with blanks", "tools: read write", ["read", "write"]],
    ["a star", 'tools: "*"', ["*"]],
    ["a list of a star", 'tools: ["*"]', ["*"]],
    ["nothing", "tools:", []],
    ["an empty list", "tools: []", []],
  ])("takes tools as %s", (_what, yaml, tools) => {
    expect(parse(`---\n${yaml}\n---\n`)?.definition.tools).toEqual(tools);
  });

  it("leaves out the tools of a file that names none", () => {
    expect(parse("---\nname: x\n---\n")?.definition).not.toHaveProperty("tools");
  });

  it("allows no tool of which a file allows only some uses", () => {
    const { allowedTools, tools } =
      parse("---\ntools: Bash(ls)\nallowedTools: Read, Bash(ls)\n---\n")?.definition ?? {};

    expect({ allowedTools, tools }).toEqual({ allowedTools: ["read"], tools: ["shell"] });
  });

  it("treats the model of the caller as none", () => {
    expect(parse("---\nmodel: inherit\n---\n")?.definition).not.toHaveProperty("model");
    expect(parse("---\nmodel: m-1\n---\n")?.definition.model).toBe("m-1");
  });

  it.each(["[git, docs]", "git, docs"])("takes servers by their names for none of its own: %s", (names) => {
    const definition = parse(`---\nmcpServers: ${names}\n---\n`)?.definition;
    expect(definition?.mcpServers).toEqual(["git", "docs"]);
    expect(definition && listServerEntries(definition)).toEqual({});
  });

  it("takes the prompt of the frontmatter if there is no other text", () => {
    expect(parse("---\nprompt: file://./p.md\n---\n\n")?.definition.prompt).toBe("file://./p.md");
    expect(parse("---\nprompt: old\n---\nnew\n")?.definition.prompt).toBe("new");
  });

  it.each([
    ["plain text", "# A prompt\n"],
    ["nothing", ""],
    ["rules between its parts", "# A prompt\n---\nname: x\n---\n"],
    ["a rule at its top", "---\n\nYou are a prompt.\n\n---\nMore.\n"],
    ["a rule at its top, and no other", "---\n# You are\na prompt\n"],
    ["a blank line before the dashes", "\n---\nname: x\n---\n"],
  ])("takes Markdown with %s for a prompt", (_what, text) => {
    expect(parse(text)).toBeUndefined();
  });

  it.each([
    ["CRLF line ends", "---\r\nname: x\r\ntools: Read, Grep\r\n---\r\n\r\nHello\r\n"],
    ["a byte order mark", "\uFEFF---\nname: x\ntools: Read, Grep\n---\n\nHello\n"],
    ["comments", "---\n# Mine\n\nname: x # short\ntools: Read, Grep\n---\nHello"],
    ["blanks after the dashes", "--- \nname: x\ntools: Read, Grep\n---\t\nHello"],
  ])("reads Markdown with %s", (_what, text) => {
    expect(parse(text)?.definition).toEqual({ name: "x", tools: ["read"], prompt: "Hello" });
  });

  it.each([
    ["no end", "---\nname: x\n", "its frontmatter has no end. "],
    ["a list in its permissions", "---\npermissions:\n  - {capability: shell}\n---\n", "permissions: "],
    [
      "permissions that are no YAML",
      "---\ndescription: a: b\npermissions: {rules: [}\n---\n",
      "its frontmatter is not YAML: ",
    ],
    ["a key twice", "---\ntools: [read]\ntools: ['*']\n---\n", "its frontmatter is not YAML: Map keys must be unique"],
    [
      "a key twice, and no YAML",
      "---\ndescription: a: b\ntools: read\ntools: write\n---\n",
      "its frontmatter is not YAML: ",
    ],
    ["tools by their names", "---\ntools: {read: true}\n---\n", "tools: must be a list of texts"],
    ["a list as its description", "---\ndescription: [a]\n---\n", "description: "],
    ["deep brackets", `---\nx: ${"[".repeat(600)}\n---\n`, "its frontmatter is nested too deeply"],
    [
      "deep blocks",
      `---\nx:\n${Array.from({ length: 70 }, (_, level) => `${" ".repeat(level + 1)}x:`).join("\n")}\n---\n`,
      "it is nested too deeply",
    ],
    [
      "more than 64 KiB of frontmatter",
      `---\ndescription: ${"y".repeat(40_000)}\nmodel: ${"y".repeat(40_000)}\n---\n`,
      "its frontmatter is longer than 64 KiB",
    ],
    [
      "2,001 keys on lines of their own",
      `---\n${Array.from({ length: 2_001 }, (_, key) => `k${key}:`).join("\n")}\n---\n`,
      "its frontmatter has more than 2,000 lines and commas",
    ],
    [
      "2,002 keys on one line",
      `---\nx: {${Array.from({ length: 2_002 }, (_, key) => `k${key}`).join(",")}}\n---\n`,
      "its frontmatter has more than 2,000 lines and commas",
    ],
    ["a bomb of aliases", `---\n${BOMB}\n---\n`, "its frontmatter is not YAML: Excessive alias count"],
    ["an alias of itself", "---\nx: &x [*x]\n---\n", "it"],
  ])("refuses Markdown with %s", (_what, text, reason) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ message: expect.stringMatching(toStart(reason)) }));
  });

  it("counts the lines of an error as an editor does", () => {
    expect(() => parse("---\nname: x\nhooks: [}\n---\n")).toThrow(/ at line 3, /);
  });

  it.each([
    ["a list", "[]", "it is JSON, but not an object"],
    ["comments", '{ // mine\n "name": "x" }', "line 1, column 3: "],
    ["nothing", "", "line 1, column 1: "],
    ["deep lists", `{"x":${"[".repeat(400)}${"]".repeat(400)}}`, "it is nested too deeply"],
    ["deeper lists", `{"x":${"[".repeat(100_000)}${"]".repeat(100_000)}}`, "it has more than 500 levels"],
    ["many values", `{"x":[${"{},".repeat(50_000)}{}]}`, "it has more than 50000 values"],
  ])("refuses JSON with %s", (_what, text, reason) => {
    expect(() => parseAgentFile(text, { file: "/agents/x.json", path: "x" })).toThrow(toStart(reason));
  });
});

const BOMB = [
  "a: &a [x, x, x, x, x, x, x, x, x]",
  ..."bcdefghi".split("").map((name, index) => {
    const before = `*${"abcdefghi"[index]}`;
    return `${name}: &${name} [${Array.from({ length: 9 }, () => before).join(", ")}]`;
  }),
].join("\n");

function parse(text: string, path = "x") {
  return parseAgentFile(text, { file: `/agents/${path}.md`, path });
}

function parseJson(fields: unknown, path = "x") {
  return parseAgentFile(JSON.stringify(fields), { file: `/agents/${path}.json`, path });
}

function toStart(text: string): RegExp {
  return new RegExp(`^${text.replaceAll(/[.]/g, "\\.")}`);
}
