import { describe, expect, it } from "vitest";
import { allowsFileTools, findEffect } from "../../src/agents/capability.ts";

type Rule = { readonly capability: string; readonly effect: "allow" | "ask" | "deny"; readonly match?: unknown };

function allow(capability: string, match?: unknown): Rule {
  return { capability, effect: "allow", ...(match === undefined ? {} : { match }) };
}

describe("findEffect", () => {
  it.each<readonly [string, readonly Rule[], string | undefined]>([
    ["no rule", [], undefined],
    ["a rule for another capability", [allow("shell")], undefined],
    ["its own rule", [allow("fs_write")], "allow"],
    ["a rule for files", [allow("filesystem")], "allow"],
    ["a rule for everything", [allow("all")], "allow"],
    ["an empty list of matches", [allow("fs_write", [])], "allow"],
    ["a rule for some files", [allow("fs_write", ["src/**"])], undefined],
    ["deny before allow", [allow("fs_write"), { capability: "all", effect: "deny" }], "deny"],
    [
      "deny before ask",
      [
        { capability: "fs_write", effect: "ask" },
        { capability: "all", effect: "deny" },
      ],
      "deny",
    ],
    ["ask before allow", [allow("fs_write"), { capability: "filesystem", effect: "ask" }], "ask"],
    ["deny for some files", [allow("fs_write"), { capability: "fs_write", effect: "deny", match: [".env"] }], "deny"],
  ])("follows %s", (_what, rules, effect) => {
    expect(findEffect({ permissions: { rules: [...rules] } }, "fs_write")).toBe(effect);
  });

  it("has none without permissions", () => {
    expect(findEffect({}, "shell")).toBeUndefined();
  });
});

describe("allowsFileTools", () => {
  it.each([
    [["fs_read", "fs_write"]],
    [["read", "write"]],
    [["fs_read", "write", "execute_bash"]],
    [["fs_*"]],
    [["fs_?ead", "fs_writ?"]],
    [["*"]],
    [["@builtin"]],
  ])("is true for the allowed tools %j", (allowedTools) => {
    expect(allowsFileTools({ name: "a", allowedTools })).toBe(true);
  });

  it("requires that the agent's list of tools has them too", () => {
    const allowedTools = ["fs_read", "fs_write"];

    expect(allowsFileTools({ name: "a", allowedTools, tools: ["fs_read", "fs_write"] })).toBe(true);
    expect(allowsFileTools({ name: "a", allowedTools, tools: ["fs_read"] })).toBe(false);
    expect(allowsFileTools({ name: "a", allowedTools, tools: [] })).toBe(false);
  });

  it.each([
    [[]],
    [["fs_read"]],
    [["fs_write"]],
    [["read", "fs_read"]],
    [["@fs_read", "@fs_write"]],
    [["@server", "@server/*"]],
    [["fs.read", "fs.write"]],
    [["fs_rea", "fs_writ"]],
    [["xfs_read", "fs_writex"]],
    [["(fs_read|fs_write)"]],
  ])("is false for the allowed tools %j", (allowedTools) => {
    expect(allowsFileTools({ name: "a", allowedTools })).toBe(false);
  });

  it.each<readonly [string, boolean, readonly Rule[]]>([
    ["both capabilities", true, [allow("fs_read"), allow("fs_write")]],
    ["all files", true, [allow("filesystem")]],
    ["everything", true, [allow("all")]],
    ["reading alone", false, [allow("fs_read")]],
    ["some files", false, [allow("fs_read"), allow("fs_write", ["src/**"])]],
    ["everything, but writing is denied", false, [allow("all"), { capability: "fs_write", effect: "deny" }]],
  ])("follows rules that allow %s: %j", (_what, allowed, rules) => {
    const definition = { name: "a", tools: ["read", "write"], permissions: { rules: [...rules] } };

    expect(allowsFileTools(definition)).toBe(allowed);
  });

  it("puts a rule above the allowed tools", () => {
    const rules = [{ capability: "fs_write", effect: "ask" as const }];

    expect(allowsFileTools({ name: "a", allowedTools: ["read", "write"], permissions: { rules } })).toBe(false);
    expect(allowsFileTools({ name: "a", allowedTools: ["read", "write"], permissions: { rules: [] } })).toBe(true);
  });
});
