import { describe, expect, it } from "vitest";
import { createSessionId, isSessionId, parseSessionId } from "@budgie/core";

const ID = "1b4e28ba-2fa1-4d2c-883f-0016d3cca427";

describe("createSessionId", () => {
  it("creates a valid id, different each time", () => {
    const ids = Array.from({ length: 100 }, createSessionId);

    expect(ids.every(isSessionId)).toBe(true);
    expect(new Set(ids).size).toBe(100);
  });
});

describe("parseSessionId", () => {
  it("returns a valid id", () => {
    expect(parseSessionId(ID)).toBe(ID);
  });

  it.each([
    ["nothing", ""],
    ["a path", "../../etc/passwd"],
    ["a path after an id", `${ID}/../x`],
    ["upper case", ID.toUpperCase()],
    ["a trailing line break", `${ID}\n`],
    ["a leading line break", `\n${ID}`],
    ["braces", `{${ID}}`],
    ["another UUID version", "1b4e28ba-2fa1-11d2-883f-0016d3cca427"],
    ["a flag", "--help"],
    ["a NUL", `${ID.slice(0, -1)}\0`],
  ])("refuses %s", (_what, text) => {
    expect(isSessionId(text)).toBe(false);
    expect(() => parseSessionId(text)).toThrow(expect.objectContaining({ code: "INPUT_INVALID" }));
  });

  it("quotes at most 64 characters of what it refuses", () => {
    expect(() => parseSessionId("x".repeat(10_000))).toThrow(`"${"x".repeat(64)}"`);
  });
});
