import { describe, expect, it } from "vitest";
import { readPart, readVersions, replaceVersion } from "../../../scripts/lib/tested-versions.mjs";

describe("the pages say which versions budgie is tested with", () => {
  it.each(readVersions())("$page: $words $version", (tested) => {
    expect(replaceVersion(readPart(tested.page), tested)).toBe(readPart(tested.page));
  });
});

describe("a version", () => {
  const mcp = { words: "`mcp`", version: "2.4.0", page: "docs/clients.md" };

  it("is replaced behind its words, wherever a line ends", () => {
    expect(replaceVersion("`rmcp` 2.3.0,\n`mcp`\n2.3.0.", mcp, "2.3.0")).toBe("`rmcp` 2.3.0,\n`mcp`\n2.4.0.");
  });

  it.each(["2.4.01", "2.4.0.1", "2.3.0"])("is not %s", (other) => {
    expect(replaceVersion(`\`mcp\` ${other}`, mcp)).toBeUndefined();
  });
});
