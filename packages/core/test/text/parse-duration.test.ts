import { describe, expect, it } from "vitest";
import { BudgieError } from "@budgie/core";
import { parseDuration, formatDuration } from "@budgie/core/text";

describe("parseDuration", () => {
  it.each([
    ["90s", 90_000],
    ["10m", 600_000],
    ["1h30m", 5_400_000],
    ["1h30m15s", 5_415_000],
    ["1.5s", 1500],
    [".5h", 1_800_000],
    ["250ms", 250],
    ["1s250ms", 1250],
    ["10m0s", 600_000],
    ["0s", 0],
    ["0", 0],
    ["7d", 604_800_000],
    ["1d12h", 129_600_000],
  ])("reads the Go duration %s", (text, ms) => {
    expect(parseDuration(text, "--agent-timeout")).toBe(ms);
  });

  it.each([
    "",
    "10",
    "m",
    "10 m",
    " 10m",
    "10m ",
    "-10m",
    "+10m",
    "10M",
    "1w",
    "10min",
    "1h-30m",
    "1..5s",
    ".s",
    "NaN",
  ])("refuses %j, and names the option and the value", (text) => {
    expect(() => parseDuration(text, "--agent-timeout")).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: `Expected --agent-timeout to be a duration such as "90s", "10m" or "1h30m", got "${text}".`,
      }),
    );
  });

  it("refuses with a BudgieError", () => {
    expect(() => parseDuration("soon", "--older-than")).toThrow(BudgieError);
  });
});

describe("formatDuration", () => {
  it.each([
    [0, "0ms"],
    [250.4, "250ms"],
    [999.7, "1s"],
    [1000, "1s"],
    [15_300, "15.3s"],
    [59_960, "1m"],
    [60_000, "1m"],
    [125_000, "2m05s"],
    [3_599_700, "1h00m"],
    [5_400_000, "1h30m"],
  ])("writes %d ms as %s", (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });
});
