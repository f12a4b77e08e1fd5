import { describe, expect, it } from "vitest";
import { isAllowedTool } from "../../src/is-allowed-tool.ts";
import { namesTool, parseToolLists } from "../../src/config/parse-tool-lists.ts";
import { toAddress } from "../helpers/servers.ts";

describe("a list of an agent's tools", () => {
  it.each([
    ["@git", ["git", "status"], true],
    ["@git", ["github", "status"], false],
    ["@git/status", ["git", "status"], true],
    ["@git/status", ["git", "statuses"], false],
    ["@git/*", ["git", "status"], true],
    ["@git/read_*", ["git", "read_file"], true],
    ["@git/read_*", ["git", "write_file"], false],
    ["@git/*_file", ["git", "read_file"], true],
    ["@git/*_file", ["git", "read_files"], false],
    ["@git/get_?", ["git", "get_a"], true],
    ["@git/get_?", ["git", "get_"], false],
    ["@git/*a*b*", ["git", "xxaxxbxx"], true],
    ["@git/*a*b*", ["git", "xxbxxaxx"], false],
    ["@git-*/status", ["git-main", "status"], true],
    ["@*", ["git", "status"], true],
    ["@git/a/b", ["git", "a/b"], true],
    ["@git/", ["git", "status"], false],
    ["@git/a.b", ["git", "axb"], false],
    ["@GIT", ["git", "status"], false],
    ["@builtin", ["git", "status"], false],
    ["*", ["git", "status"], false],
    ["git/status", ["git", "status"], false],
    ["status", ["git", "status"], false],
  ] as const)("with %s has %j, a server and its tool: %s", (pattern, [server, tool], expected) => {
    expect(namesTool([pattern], server, tool)).toBe(expected);
  });
});

describe("the lists of an agent's file", () => {
  const server = toAddress("git", "https://example.com");

  it.each<[object, boolean, readonly string[]]>([
    [{}, false, ["read", "write"]],
    [{ tools: null }, false, ["read", "write"]],
    [{ tools: ["*"] }, false, ["read", "write"]],
    [{ tools: ["fs_read", "@git"] }, false, ["read", "write"]],
    [{ tools: ["fs_read", "@mcp"] }, false, ["read", "write"]],
    [{ tools: ["*"], allowedTools: ["@mcp"] }, false, ["read", "write"]],
    [{ tools: ["fs_read"] }, false, []],
    [{ tools: [] }, false, []],
    [{ tools: "*" }, false, []],
    [{ tools: ["*"], allowedTools: ["@git/read"] }, false, ["read"]],
    [{ tools: ["*"], allowedTools: ["*"] }, false, []],
    [{ tools: ["*"], allowedTools: ["@git/read"] }, true, ["read", "write"]],
    [{ tools: ["@git/write"], allowedTools: ["@git/read"] }, false, []],
    [{ allowedTools: ["@git/*"] }, false, ["read", "write"]],
  ])("%j, with all tools trusted: %s, give %j", (content, trustsAll, expected) => {
    const toolLists = parseToolLists({ file: "a.json", content }, { trustsAll });

    expect(["read", "write"].filter((tool) => isAllowedTool(tool, { server, toolLists }))).toEqual(expected);
  });

  it("never give more than the user and the server's entry allow", () => {
    const allowed = { server: { ...server, disabledTools: ["read"] }, tools: ["read", "list"], toolLists: [["@git"]] };

    expect(["read", "list", "write"].filter((tool) => isAllowedTool(tool, allowed))).toEqual(["list"]);
  });
});
