import { describe, expect, it } from "vitest";
import type { ServerPath } from "../../../src/commands/install/config-format.ts";
import { jsonFormat } from "../../../src/commands/install/json-format.ts";

const path: ServerPath = ["mcpServers", "budgie"];
const entry = { command: "node", args: ["--sandbox"] };

const TEXTS = [
  "{}",
  "{}\n",
  "{ }",
  "{\n}\n",
  "{\n  // mine\n}\n",
  "{ // mine\n}\n",
  '{"a":{"b":[1,2]},"c":null}',
  '{\n\t"a": 1,\n\t"mcpServers": {\n\t\t"other": { "command": "x" } // why\n\t}\n}\n',
  '{\r\n  "mcpServers": {\r\n    "other": { "command": "x" },\r\n  },\r\n}\r\n',
  '{\n    "mcpServers": {}\n}',
  '{ "mcpServers": { "other": { "command": "x" } } }\n',
  '{\n  /* all of them */\n  "mcpServers": { // here\n    // the first\n    "other": {}\n    // no more\n  }\n}\n',
];

describe("jsonFormat", () => {
  it.each(TEXTS)("adds a server to %j, and changes no other byte", (text) => {
    const edited = jsonFormat.put(text, path, entry);

    expect(jsonFormat.parse(edited)).toEqual(withEntry(text));
    expect(hasOneInsertion(text, edited)).toBe(true);
  });

  it.each(TEXTS.filter((text) => text.includes("mcpServers")))("removes it from %j again", (text) => {
    const restored = jsonFormat.remove(jsonFormat.put(text, path, entry), path);

    expect(jsonFormat.parse(restored)).toEqual(jsonFormat.parse(text));
    expect(restored.replace(/\s/g, "")).toBe(text.replace(/\s/g, ""));
  });

  it.each([
    ["the last one", '{"mcpServers":{"other":{},"budgie":{}}}', '{"mcpServers":{"other":{}}}'],
    ["the only one", '{"mcpServers":{"budgie":{}}}', '{"mcpServers":{}}'],
    [
      "one with a comment after it",
      '{\n  "mcpServers": {\n    "a": {}, // a\n    "budgie": {}, // ours\n    // b\n    "b": {}\n  }\n}',
      '{\n  "mcpServers": {\n    "a": {}, // a\n     // ours\n    // b\n    "b": {}\n  }\n}',
    ],
    [
      "the last one, on lines of its own",
      '{\n  "mcpServers": {\n    "a": {}, // a\n    "budgie": {}\n  }\n}',
      '{\n  "mcpServers": {\n    "a": {} // a\n  }\n}',
    ],
  ])("removes %s", (_which, text, expected) => {
    expect(jsonFormat.remove(text, path)).toBe(expected);
  });

  it("sets keys of an existing server, and keeps its comments and other keys", () => {
    const text =
      '{\n  "mcpServers": {\n    "budgie": {\n      // old\n      "command": "x",\n      "disabled": true\n    }\n  }\n}\n';

    const edited = jsonFormat.put(text, path, entry);

    expect(jsonFormat.parse(edited)).toEqual({ mcpServers: { budgie: { ...entry, disabled: true } } });
    expect(edited).toContain("// old\n");
  });

  it("creates a missing file", () => {
    expect(jsonFormat.put("", path, { command: "node" })).toBe(
      '{\n  "mcpServers": {\n    "budgie": {\n      "command": "node"\n    }\n  }\n}\n',
    );
    expect(jsonFormat.parse(jsonFormat.put("// mine", path, entry))).toEqual({ mcpServers: { budgie: entry } });
  });

  it("reports the position of a syntax error, and quotes nothing", () => {
    expect(() => jsonFormat.parse('{\n  "key": sk-1\n}')).toThrow(/^InvalidSymbol in line 2, column 10$/);
    expect(() => jsonFormat.parse("[]")).toThrow("it is not an object");
  });

  it("hides all values and comments but the given ones", () => {
    const text =
      '{\n  "mcpServers": { // sk-1\n    "other": { "env": { "KEY": "sk-2" }, "n": 3 },\n' +
      '    "budgie": { "command": "node", "x": "sk-4" }\n  }\n}';

    expect(jsonFormat.mask(text, path, new Set(["command"]))).toBe(
      '{\n  "mcpServers": { …\n    "other": { "env": { "KEY": … }, "n": … },\n' +
        '    "budgie": { "command": "node", "x": … }\n  }\n}',
    );
  });
});

function withEntry(text: string): unknown {
  const content = jsonFormat.parse(text);
  return { ...content, mcpServers: { ...(content["mcpServers"] as object | undefined), budgie: entry } };
}

/** Tells whether one text is the other with an insertion at one place. */
function hasOneInsertion(text: string, edited: string): boolean {
  let start = 0;
  while (start < text.length && text[start] === edited[start]) start += 1;
  return edited.endsWith(text.slice(start));
}
