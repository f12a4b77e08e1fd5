import { describe, expect, it } from "vitest";
import { toToolDescription } from "../../../src/mcp/tools/tool-description.ts";

// Where Kiro cuts, and what it may put before a description.
const KIRO_CUTS_AT = 10_004;
const KIRO_PREFIX = `(MCP tool from ${"s".repeat(128)}) `;

describe("toToolDescription", () => {
  it("leaves what is short enough as it is", () => {
    const text = "é".repeat(4_900);

    expect(toToolDescription(text, "")).toBe(text);
  });

  it.each(["a", "é", "€", "🦜"])("cuts a long text of %s between two characters, where Kiro need not", (character) => {
    const cut = toToolDescription(character.repeat(10_000), "");

    expect(Buffer.byteLength(KIRO_PREFIX + cut)).toBeLessThan(KIRO_CUTS_AT);
    expect(Buffer.byteLength(cut)).toBeGreaterThan(9_790);
    expect(cut.replaceAll(character, "")).toBe(" [...]");
  });

  it.each(["short", "a".repeat(9_795), "€".repeat(10_000)])("never loses the ending (case %#)", (text) => {
    const described = toToolDescription(text, "\n\nThe énd.");

    expect(described).toMatch(/\n\nThe énd\.$/);
    expect(Buffer.byteLength(described)).toBeLessThan(10_000);
  });

  it.each(["half \uD83E of a parrot", `\uDD9C${"a".repeat(10_000)}`])(
    "has no half of a character, which some clients drop the whole list for (case %#)",
    (text) => {
      expect(toToolDescription(text, "")).not.toMatch(/\p{Surrogate}/u);
    },
  );
});
