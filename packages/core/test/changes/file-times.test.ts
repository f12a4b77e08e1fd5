import { describe, expect, it } from "vitest";
import { isSince } from "../../src/changes/file-times.ts";

describe("isSince", () => {
  it.each([
    ["a later time", 5003.7, 5003, true],
    ["an earlier time", 5002.9, 5003, false],
    ["the time itself", 5003, 5003, false],
    ["a time that may have been rounded down to 10 ms", 5010, 5019, true],
    ["a time too early for that precision, by 10 ms", 5010, 5020, false],
    ["a time that may have been rounded down to 2 s", 4000, 5999, true],
    ["a time too early for that precision, by 2 s", 4000, 6000, false],
  ])("judges %s", (_what, ...[timeMs, sinceMs, expected]) => {
    expect(isSince(timeMs, sinceMs)).toBe(expected);
  });
});
