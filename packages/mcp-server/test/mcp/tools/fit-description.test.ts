import { describe, expect, it } from "vitest";
import { fitDescription } from "../../../src/mcp/tools/fit-description.ts";

// Kiro's limit, and the longest prefix that it adds to a description.
const KIRO_CUTS_AT = 10_004;
const KIRO_PREFIX = `(MCP tool from ${"s".repeat(128)}) `;

describe("fitDescription", () => {
  it("leaves a short text unchanged", () => {
    const text = "é".repeat(4_900);

    expect(fitDescription(text, "")).toBe(text);
  });

  it.each(["a", "é", "€", "🦜"])(
    "truncates a long text of %s between two characters, below Kiro's limit",
    (character) => {
      const cut = fitDescription(character.repeat(10_000), "");

      expect(Buffer.byteLength(KIRO_PREFIX + cut)).toBeLessThan(KIRO_CUTS_AT);
      expect(Buffer.byteLength(cut)).toBeGreaterThan(9_790);
      expect(cut.replaceAll(character, "")).toBe(" [...]");
    },
  );

  it.each(["short", "a".repeat(9_795), "€".repeat(10_000)])("never loses the ending (case %#)", (text) => {
    const described = fitDescription(text, "\n\nThe énd.");

    expect(described).toMatch(/\n\nThe énd\.$/);
    expect(Buffer.byteLength(described)).toBeLessThan(10_000);
  });

  it.each(["half \uD83E of a parrot", `\uDD9C${"a".repeat(10_000)}`])(
    "splits no character, for which some clients drop the whole list (case %#)",
    (text) => {
      expect(fitDescription(text, "")).not.toMatch(/\p{Surrogate}/u);
    },
  );
});
