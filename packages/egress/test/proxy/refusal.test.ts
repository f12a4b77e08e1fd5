import { describe, expect, it } from "vitest";
import { printableText } from "../../src/proxy/refusal.ts";

describe("printableText", () => {
  it("keeps the characters of names and ports", () => {
    expect(printableText("Example-1.test:443")).toBe("Example-1.test:443");
  });

  it("shows nothing that a terminal would act on, and no more than a name may have", () => {
    expect(printableText("\u001b[31me\r\nv il\u0000\u009b\u202e")).toBe("?[31me??v?il???");
    expect(printableText("x".repeat(5_000))).toBe(`${"x".repeat(300)}...`);
  });
});
