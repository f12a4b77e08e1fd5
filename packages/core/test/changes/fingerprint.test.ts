import { describe, expect, it } from "vitest";
import { toHash, toScriptsText } from "../../src/changes/fingerprint.ts";

describe("toScriptsText", () => {
  it("takes a package.json whole that is nested too deeply to be written again", () => {
    const half = 500_000;
    const content = Buffer.from(`{"scripts":${"[".repeat(half)}${"]".repeat(half)}}`);

    expect(toScriptsText(content)).toBe(toHash(content));
  });
});
