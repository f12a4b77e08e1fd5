import { describe, expect, it } from "vitest";
import { toToolDescription } from "../../src/mcp/tool-description.ts";

describe("toToolDescription", () => {
  it("leaves what is short enough as it is", () => {
    const text = "é".repeat(4_999);

    expect(toToolDescription(text, "")).toBe(text);
  });

  it.each(["a", "é", "€", "🦜"])("cuts a long text of %s between two characters, under 10,000 bytes", (character) => {
    const cut = toToolDescription(character.repeat(10_000), "");

    expect(Buffer.byteLength(cut)).toBeLessThan(10_000);
    expect(Buffer.byteLength(cut)).toBeGreaterThan(9_990);
    expect(cut.replaceAll(character, "")).toBe(" [...]");
  });

  it.each(["short", "a".repeat(9_995), "€".repeat(10_000)])("never loses the ending (case %#)", (text) => {
    const described = toToolDescription(text, "\n\nThe énd.");

    expect(described).toMatch(/\n\nThe énd\.$/);
    expect(Buffer.byteLength(described)).toBeLessThan(10_000);
  });
});
