import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { BudgieError, createHealth, type ErrorCode, type Health } from "@budgie/core";

// Durations are exact when the clock moves only where a test moves it.
beforeEach(() => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
});

describe("createHealth", () => {
  it("lists every agent before its first turn", () => {
    expect(createHealth(["a", "b"], "container").report()).toEqual({
      isolation: "container",
      overall: { totalCalls: 0, successCalls: 0, successRate: "n/a" },
      agents: ["a", "b"].map((agent) => ({
        agent,
        totalCalls: 0,
        successCalls: 0,
        failedCalls: 0,
        timeoutCalls: 0,
        cancelledCalls: 0,
        successRate: "n/a",
        avgDuration: "",
        p50Duration: "",
        p95Duration: "",
        lastSuccess: "",
        lastFailure: "",
        lastError: "",
      })),
    });
  });

  it("hands through what a turn answers, and what it throws", async () => {
    const health = createHealth(["a"], "none");
    const error = new BudgieError("AGENT_FAILED", "x");

    expect(await health.record("a", async () => 42)).toBe(42);
    await expect(health.record("a", () => Promise.reject(error))).rejects.toBe(error);
  });

  it("counts every turn, with timeouts apart and among the failures", async () => {
    const health = createHealth(["a", "b"], "none");
    await succeed(health, "a", 2);
    await fail(health, "a", "TIMED_OUT");
    await fail(health, "a", "AGENT_FAILED");
    await succeed(health, "b");

    expect(health.report()).toMatchObject({
      overall: { totalCalls: 5, successCalls: 3, successRate: "60.0%" },
      agents: [
        { agent: "a", totalCalls: 4, successCalls: 2, failedCalls: 2, timeoutCalls: 1, successRate: "50.0%" },
        { agent: "b", totalCalls: 1, successCalls: 1, failedCalls: 0, timeoutCalls: 0, successRate: "100.0%" },
      ],
    });
  });

  it("holds a cancelled turn against nobody", async () => {
    const health = createHealth(["a"], "none");
    await succeed(health, "a");
    await fail(health, "a", "CANCELLED");

    expect(health.report()).toMatchObject({
      overall: { totalCalls: 2, successCalls: 1, successRate: "100.0%" },
      agents: [{ totalCalls: 2, failedCalls: 0, cancelledCalls: 1, successRate: "100.0%", lastError: "" }],
    });
  });

  it("remembers the last failure with its code, and when it was", async () => {
    const health = createHealth(["a"], "none");
    vi.setSystemTime("2026-01-02T03:04:05Z");
    await fail(health, "a", "TIMED_OUT");
    vi.advanceTimersByTime(60_000);
    await fail(health, "a", "AGENT_CRASHED");
    vi.advanceTimersByTime(60_000);
    await succeed(health, "a");

    expect(health.report().agents).toMatchObject([
      {
        lastError: "AGENT_CRASHED: failed",
        lastFailure: "2026-01-02T03:05:05.000Z",
        lastSuccess: "2026-01-02T03:06:05.000Z",
      },
    ]);
  });

  it("remembers a bug without a code", async () => {
    const health = createHealth(["a"], "none");
    await expect(health.record("a", () => Promise.reject(new TypeError("oops")))).rejects.toThrow("oops");

    expect(health.report().agents).toMatchObject([{ failedCalls: 1, lastError: "oops" }]);
  });

  it("counts an agent that it was not told of", async () => {
    const health = createHealth([], "none");
    await succeed(health, "new");

    expect(health.report().agents).toMatchObject([{ agent: "new", totalCalls: 1 }]);
  });

  it("tells the middle and the slow end of the durations by nearest rank", async () => {
    const health = createHealth(["a"], "none");
    for (let seconds = 1; seconds <= 20; seconds++) await takeTime(health, seconds * 1000);

    expect(health.report().agents).toMatchObject([{ avgDuration: "10.5s", p50Duration: "10s", p95Duration: "19s" }]);
  });

  it("takes one duration for all of them", async () => {
    const health = createHealth(["a"], "none");
    await takeTime(health, 125_000);

    const duration = "2m05s";
    expect(health.report().agents).toMatchObject([
      { avgDuration: duration, p50Duration: duration, p95Duration: duration },
    ]);
  });

  it("leaves failures out of the durations", async () => {
    const health = createHealth(["a"], "none");
    await takeTime(health, 1000);
    await expect(takeTime(health, 60_000, new BudgieError("TIMED_OUT", "x"))).rejects.toThrow("x");

    expect(health.report().agents).toMatchObject([{ avgDuration: "1s", p95Duration: "1s" }]);
  });

  it("forgets the durations of turns before the last 500", async () => {
    const health = createHealth(["a"], "none");
    await takeTime(health, 500_000);
    await succeed(health, "a", 499);
    expect(health.report().agents).toMatchObject([{ avgDuration: "1s" }]);
    await succeed(health, "a");

    expect(health.report().agents).toMatchObject([{ totalCalls: 501, avgDuration: "0ms" }]);
  });
});

async function succeed(health: Health, agent: string, times = 1): Promise<void> {
  for (let count = 0; count < times; count++) await health.record(agent, async () => undefined);
}

async function fail(health: Health, agent: string, code: ErrorCode): Promise<void> {
  const failing = () => Promise.reject(new BudgieError(code, "failed"));
  await expect(health.record(agent, failing)).rejects.toMatchObject({ code });
}

function takeTime(health: Health, ms: number, error?: Error): Promise<void> {
  return health.record("a", async () => {
    vi.advanceTimersByTime(ms);
    if (error) throw error;
  });
}
