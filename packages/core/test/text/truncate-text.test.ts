import { describe, expect, it } from "vitest";
import { truncateText } from "@budgie/core/text";

describe("truncateText", () => {
  it.each([
    ["abc", 3, "abc"],
    ["abc", 2, "ab"],
    ["aé", 2, "a"],
    ["a€", 3, "a"],
    ["a🦜", 4, "a"],
    ["a🦜", 5, "a🦜"],
    ["\uFEFFa", 4, "\uFEFFa"],
    ["abc", 0, ""],
  ])("truncates %j after %i bytes to %j", (text, maxBytes, expected) => {
    expect(truncateText(text, maxBytes)).toBe(expected);
  });
});
