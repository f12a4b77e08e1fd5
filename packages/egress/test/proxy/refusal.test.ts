import { describe, expect, it } from "vitest";
import { toShown } from "../../src/proxy/refusal.ts";

describe("toShown", () => {
  it("keeps what a name and a port are made of", () => {
    expect(toShown("Example-1.test:443")).toBe("Example-1.test:443");
  });

  it("shows nothing that a terminal would act on, and no more than a name may have", () => {
    expect(toShown("\u001b[31me\r\nv il\u0000\u009b\u202e")).toBe("?[31me??v?il???");
    expect(toShown("x".repeat(5_000))).toBe(`${"x".repeat(300)}...`);
  });
});
