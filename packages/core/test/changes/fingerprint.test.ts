import { describe, expect, it } from "vitest";
import { hashContent, hashScripts } from "../../src/changes/fingerprint.ts";

describe("hashScripts", () => {
  it("returns a package.json whole if it is nested too deeply to be serialized, or has too many values to be parsed", () => {
    const half = 500_000;
    const deep = Buffer.from(`{"scripts":${"[".repeat(half)}${"]".repeat(half)}}`);
    const wide = Buffer.from(`{"scripts":{},"files":[${"{},".repeat(5000)}{}]}`);

    for (const content of [deep, wide]) expect(hashScripts(content, { values: 1e6 })).toBe(hashContent(content));
  });

  it("parses few values of all files together", () => {
    const budget = { values: 1000 };
    const content = Buffer.from(`{"scripts":{"a":"b"},"files":[${"{},".repeat(400)}{}]}`);

    const texts = [1, 2, 3].map(() => hashScripts(content, budget));

    expect(texts).toEqual([expect.stringMatching(/^scripts /), expect.stringMatching(/^scripts /), undefined]);
  });
});
