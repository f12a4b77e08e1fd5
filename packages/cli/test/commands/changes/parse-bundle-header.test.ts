import { describe, expect, it } from "vitest";
import { parseBundleHeader } from "../../../src/commands/changes/parse-bundle-header.ts";

const HASH = "a".repeat(40);

describe("parseBundleHeader", () => {
  it("names the references of a bundle, and not the commits that it needs", () => {
    const header = `# v2 git bundle\n-${HASH} subject\n${HASH} refs/heads/main\n${HASH} HEAD\n\nPACK\n\n`;

    expect(parseBundleHeader(Buffer.from(header))).toEqual([
      { name: "refs/heads/main", commit: HASH },
      { name: "HEAD", commit: HASH },
    ]);
  });

  it.each([
    ["nothing", ""],
    ["no bundle", `#!/bin/sh\n${HASH} refs/heads/main\n\n`],
    ["a header without an end", `# v2 git bundle\n${HASH} refs/heads/main\n`],
    ["another version", `# v9 git bundle\n${HASH} refs/heads/main\n\n`],
  ])("takes %s for no bundle", (_, text) => {
    expect(parseBundleHeader(Buffer.from(text))).toBeUndefined();
  });
});
