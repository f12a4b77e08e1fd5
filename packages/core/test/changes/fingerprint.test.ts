import { describe, expect, it } from "vitest";
import { toHash, toScriptsText } from "../../src/changes/fingerprint.ts";

describe("toScriptsText", () => {
  it("returns a package.json whole if it is nested too deeply to be serialized", () => {
    const half = 500_000;
    const content = Buffer.from(`{"scripts":${"[".repeat(half)}${"]".repeat(half)}}`);

    expect(toScriptsText(content)).toBe(toHash(content));
  });
});
