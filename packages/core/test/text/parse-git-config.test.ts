import { describe, expect, it } from "vitest";
import { parseGitConfig } from "../../src/text/parse-git-config.ts";

describe("parseGitConfig", () => {
  it.each([
    ["[core]\n\tfsmonitor = ./run", [{ key: "core.fsmonitor", value: "./run", hasSubsection: false }]],
    ['[Filter "a.b"]\n  Clean=x y', [{ key: "filter.clean", value: "x y", hasSubsection: true }]],
    ["[filter.lfs] clean = x", [{ key: "filter.clean", value: "x", hasSubsection: true }]],
    ['[includeIf "gitdir:[a]/"] path = "a;b" # c', [{ key: "includeif.path", value: "a;b", hasSubsection: true }]],
    ["[core]\r\neditor = a \\\r\nb", [{ key: "core.editor", value: "a b", hasSubsection: false }]],
    ['[core]\neditor = "a\\"b" ; c', [{ key: "core.editor", value: 'a"b', hasSubsection: false }]],
    ["[core]\n# editor = a\n; pager = b\nbare", []],
    ["[core\n]]] = [[", []],
  ])("reads %j", (text, expected) => {
    expect(parseGitConfig(text)).toEqual(expected);
  });
});
