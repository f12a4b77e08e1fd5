import { afterEach, describe, expect, it, vi } from "vitest";
import { isSince, noteTime } from "../../../src/changes/files/note-time.ts";

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

type Steps = { readonly pauseMs?: number; readonly setBackMs?: number };

describe("noteTime", () => {
  afterEach(() => void vi.restoreAllMocks());

  it.each<[string, { readonly pauseMs?: number; readonly setBackMs?: number }, number | undefined]>([
    ["nothing happened", {}, 1001],
    ["this process was paused between its readings of the two clocks", { pauseMs: 50 }, 1001],
    ["the clock was set back by less than file times need", { setBackMs: 4 }, 1001],
    ["the clock was set back", { setBackMs: 100 }, 901],
    ["the clock was set back during such a pause", { setBackMs: 100, pauseMs: 50 }, 901],
    ["the clock was set back too far", { setBackMs: 1001 }, undefined],
  ])("tells the noted time after %s", (_what, { pauseMs = 0, setBackMs = 0 }: Steps, expected) => {
    const clock = startClock(1000);
    const { toSinceMs } = noteTime();
    clock.advance(500);
    clock.setBack(setBackMs);
    clock.pauseAfterNextReading(pauseMs);

    expect(toSinceMs()).toBe(expected);
  });
});

/** Replaces this process's wall clock and monotonic clock. */
function startClock(startMs: number) {
  let [elapsedMs, wallMs, pauseMs] = [0, startMs, 0];
  vi.spyOn(performance, "now").mockImplementation(() => elapsedMs);
  vi.spyOn(Date, "now").mockImplementation(() => {
    const read = wallMs + elapsedMs;
    elapsedMs += pauseMs;
    pauseMs = 0;
    return read;
  });
  return {
    advance: (ms: number) => void (elapsedMs += ms),
    setBack: (ms: number) => void (wallMs -= ms),
    pauseAfterNextReading: (ms: number) => void (pauseMs = ms),
  };
}
