import { describe, expect, it } from "vitest";
import { parsePromptFrontmatter, formatDescription, formatWhenToUse } from "../../src/agents/prompt-frontmatter.ts";

const PATH = "/prompts/tester.md";

const WHOLE = `---
name: tester
description: Validates things
capabilities:
  - Tool validation
  - Session testing
use_when:
  - Need to validate tools
avoid_when:
  - Writing production code
tools:
  - fs_read
model: claude-3-5-sonnet-20241022
tags:
  - testing
---

# Tester

---

capabilities: not these
---
`;

const parse = (text: string) => parsePromptFrontmatter(text, PATH);

describe("parsePromptFrontmatter", () => {
  it("reads every field", () => {
    expect(parse(WHOLE)).toEqual({
      name: "tester",
      description: "Validates things",
      capabilities: ["Tool validation", "Session testing"],
      use_when: ["Need to validate tools"],
      avoid_when: ["Writing production code"],
      tools: ["fs_read"],
      model: "claude-3-5-sonnet-20241022",
      tags: ["testing"],
    });
  });

  it.each([
    ["CRLF line ends", WHOLE.replaceAll("\n", "\r\n")],
    ["a byte order mark", `\uFEFF${WHOLE}`],
    ["blanks after the dashes", WHOLE.replaceAll("---\n", "--- \t\n")],
    ["nothing after it", WHOLE.slice(0, WHOLE.indexOf("\n\n# Tester"))],
  ])("reads the same with %s", (_what, text) => {
    expect(parse(text)).toEqual(parse(WHOLE));
  });

  it.each([
    ["empty", ""],
    ["plain Markdown", "# Tester\n"],
    ["Markdown with rules between its parts", "# Tester\n---\nmodel: x\n---\n"],
    ["begins with a longer rule", "----\nmodel: x\n----\n"],
  ])("finds no frontmatter in a file that is %s", (_what, text) => {
    expect(parse(text)).toBeUndefined();
  });

  it("treats an empty one as one without settings", () => {
    expect(parse("---\n---\n# Tester")).toEqual({
      capabilities: [],
      use_when: [],
      avoid_when: [],
      tools: [],
      tags: [],
    });
  });

  it("treats blank fields as missing", () => {
    const text = "---\nname:\ndescription:\ncapabilities:\nuse_when: ~\nmodel:\ntags:\n---\n";

    expect(formatDescription("Mine", parse(text))).toBe("Mine");
  });

  it("treats a single item as a list of one", () => {
    expect(parse("---\ncapabilities: Everything\n---\n")?.capabilities).toEqual(["Everything"]);
  });

  it("ends at a line of dashes, not at dashes that end a line", () => {
    expect(parse("---\ndescription: before ---\nmodel: m1\n---\n")).toMatchObject({
      description: "before ---",
      model: "m1",
    });
  });

  it.each([
    ["has no end", "---\nmodel: x\n", /^The frontmatter of "\/prompts\/tester.md" has no end\. /],
    ["is not YAML", "---\na: b: c\n---\n", /^The frontmatter of "\/prompts\/tester.md" is not YAML: Nested mappings/],
    ["is a list", "---\n- a\n---\n", /^The frontmatter of "\/prompts\/tester.md" is not valid: it: /],
    ["has a wrong list", "---\ncapabilities: { a: b }\n---\n", /capabilities: must be a text or a list of texts/],
    ["has a wrong item", "---\nuse_when: [1]\n---\n", /use_when: must be a text or a list of texts/],
    ["has a flag as its model", "---\nmodel: --trust-all-tools\n---\n", /model: must be a model's name/],
    ["has a model name with a space", "---\nmodel: a b\n---\n", /model: must be a model's name/],
  ])("refuses one that %s, and names the file", (_what, text, message) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
    expect(() => parse(text)).toThrow(message);
  });

  it("states the fault in one line", () => {
    const message = messageOf(() => parse("---\na: [1\nb: {\n---\n"));

    expect(message).toContain("is not YAML");
    expect(message).not.toContain("\n");
  });
});

describe("formatDescription", () => {
  it("is the description, then what the agent can do", () => {
    expect(formatDescription("From the agent file", parse(WHOLE))).toBe(`Validates things

Capabilities:
- Tool validation
- Session testing`);
  });

  it.each(["---\nuse_when: Always\n---\n", '---\ncapabilities: [" ", ""]\n---\n'])(
    "leaves out a section without items: %j",
    (text) => {
      expect(formatDescription("Mine", parse(text))).toBe("Mine");
    },
  );

  it("is the agent file's description when there is no frontmatter", () => {
    expect(formatDescription("Mine", undefined)).toBe("Mine");
  });
});

describe("formatWhenToUse", () => {
  it("says when to use an agent, then when not", () => {
    expect(formatWhenToUse(parse(WHOLE))).toBe(`Use when:
- Need to validate tools

Avoid when:
- Writing production code`);
  });

  it("leaves out a section without items", () => {
    expect(formatWhenToUse(parse("---\nuse_when: Always\n---\n"))).toBe("Use when:\n- Always");
  });

  it.each([undefined, parse("---\ndescription: x\n---\n")])(
    "is empty if the profile says neither (case %#)",
    (profile) => {
      expect(formatWhenToUse(profile)).toBe("");
    },
  );
});

describe("long frontmatter", () => {
  // A tenth of the largest file would take a second or more.
  it("is refused before it is parsed", () => {
    const keys = Array.from({ length: 8_000 }, (_, index) => `key${index}: 1`).join("\n");

    expect(messageOf(() => parse(`---\n${keys}\n---\n`))).toBe(
      `The frontmatter of "${PATH}" is longer than 64 KiB. Shorten it.`,
    );
  });
});

describe("nested frontmatter", () => {
  const deep = (count: number): readonly string[] => [
    `x: ${"[".repeat(5 * count)}${"]".repeat(5 * count)}`,
    `x: ${"{ a: ".repeat(5 * count)}1${"}".repeat(5 * count)}`,
    `${"- ".repeat(count)}x`,
    `${"? ".repeat(count)}x`,
    Array.from({ length: 2 * count }, (_, indent) => `${" ".repeat(indent)}a:`).join("\n"),
  ];

  // Beyond some depth the parser exhausts the stack, and V8 may then abort the program.
  it.each(deep(1000))("is refused before it is parsed if it nests too deeply (case %#)", (yaml) => {
    expect(messageOf(() => parse(`---\n${yaml}\n---\n`))).toBe(`The frontmatter of "${PATH}" is nested too deeply.`);
  });

  it.each(deep(99))("is parsed otherwise (case %#)", (yaml) => {
    expect(messageOf(() => parse(`---\n${yaml}\n---\n`))).not.toContain("deeply");
    expect(messageOf(() => parse(`---\n${yaml}\n---\n`))).not.toContain("stack");
  });
});

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return "";
}
