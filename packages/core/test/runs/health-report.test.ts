import { describe, expect, it } from "vitest";
import { buildHealthReport, type HealthReport, type Run } from "@budgie/core/runs";

const NOW = Date.parse("2026-01-02T03:04:05Z");

const SUCCESS: Run = {
  id: "x",
  agent: "a",
  sessionId: "s",
  isolation: "none",
  startedMs: NOW,
  endedMs: NOW,
  outcome: "answered",
  exit: undefined,
  promptBytes: 1,
  answerBytes: 1,
  timedOut: false,
  retried: false,
  error: undefined,
  egress: undefined,
  usage: undefined,
  delivered: true,
};

const fail = (outcome: Run["outcome"], over: Partial<Run> = {}): Run => ({
  ...SUCCESS,
  outcome,
  error: "failed",
  ...over,
});
const takeTime = (ms: number, over: Partial<Run> = {}): Run => ({ ...SUCCESS, endedMs: NOW + ms, ...over });

const report = (runs: readonly Run[], agents: readonly string[] = ["a"]): HealthReport =>
  buildHealthReport(runs, { agents, isolation: "none" });

describe("buildHealthReport", () => {
  it("gives only the kind of a last error if its text is private", () => {
    const runs = [fail("AGENT_FAILED"), { ...fail("BUG"), agent: "b" }];

    const { agents } = buildHealthReport(runs, { agents: [], isolation: "none", showErrors: false });

    expect(agents.map(({ lastError }) => lastError)).toEqual(["AGENT_FAILED", "BUG"]);
    expect(report(runs).agents.map(({ lastError }) => lastError)).toEqual(["AGENT_FAILED: failed", "failed"]);
  });

  it("lists every agent before its first turn", () => {
    expect(buildHealthReport([], { agents: ["a", "b"], isolation: "container" })).toEqual({
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
        lastSuccess: "",
        lastFailure: "",
        lastError: "",
      })),
    });
  });

  it("counts every finished turn, with timeouts also counted separately", () => {
    const runs = [
      fail("running"),
      { ...SUCCESS, agent: "b" },
      fail("AGENT_FAILED"),
      fail("TIMED_OUT", { timedOut: true }),
      fail("INDETERMINATE", { timedOut: true }),
      fail("INDETERMINATE"),
      SUCCESS,
      SUCCESS,
    ];

    expect(report(runs, ["a", "b"])).toMatchObject({
      overall: { totalCalls: 7, successCalls: 3, successRate: "42.9%" },
      agents: [
        { agent: "a", totalCalls: 6, successCalls: 2, failedCalls: 4, timeoutCalls: 2, successRate: "33.3%" },
        { agent: "b", totalCalls: 1, successCalls: 1, failedCalls: 0, timeoutCalls: 0, successRate: "100.0%" },
      ],
    });
  });

  it("counts a cancelled turn as neither success nor failure", () => {
    expect(report([fail("CANCELLED"), SUCCESS])).toMatchObject({
      overall: { totalCalls: 2, successCalls: 1, successRate: "100.0%" },
      agents: [{ totalCalls: 2, failedCalls: 0, cancelledCalls: 1, successRate: "100.0%", lastError: "" }],
    });
  });

  it("counts a turn as failed, at its start, if its budgie ended first", () => {
    const runs = [fail("lost", { error: "It was gone.", endedMs: undefined })];

    expect(report(runs).agents).toMatchObject([
      { totalCalls: 1, failedCalls: 1, lastError: "lost: It was gone.", lastFailure: "2026-01-02T03:04:05.000Z" },
    ]);
  });

  it("remembers the last failure with its code and time", () => {
    const runs = [takeTime(120_000), fail("AGENT_CRASHED", { endedMs: NOW + 60_000 }), fail("TIMED_OUT"), SUCCESS];

    expect(report(runs).agents).toMatchObject([
      {
        lastError: "AGENT_CRASHED: failed",
        lastFailure: "2026-01-02T03:05:05.000Z",
        lastSuccess: "2026-01-02T03:06:05.000Z",
      },
    ]);
  });

  it("remembers a bug without a code", () => {
    expect(report([fail("BUG", { error: "oops" })]).agents).toMatchObject([{ failedCalls: 1, lastError: "oops" }]);
  });

  it("counts an agent that is not in the list", () => {
    expect(report([{ ...SUCCESS, agent: "new" }], []).agents).toMatchObject([{ agent: "new", totalCalls: 1 }]);
  });

  it("computes the median and the 95th percentile of the durations by nearest rank", () => {
    const runs = Array.from({ length: 20 }, (_, index) => takeTime((index + 1) * 1000));

    expect(report(runs).agents).toMatchObject([
      { avgDurationMs: 10_500, p50DurationMs: 10_000, p95DurationMs: 19_000 },
    ]);
  });

  it("uses a single duration for both", () => {
    const durationMs = 125_000;

    expect(report([takeTime(durationMs)]).agents).toMatchObject([
      { avgDurationMs: durationMs, p50DurationMs: durationMs, p95DurationMs: durationMs },
    ]);
  });

  it("leaves failures out of the durations", () => {
    const runs = [fail("TIMED_OUT", { endedMs: NOW + 60_000 }), takeTime(1000)];

    expect(report(runs).agents).toMatchObject([{ avgDurationMs: 1000, p95DurationMs: 1000 }]);
  });

  it("leaves out durations of turns before the last 500", () => {
    const successes = Array.from({ length: 499 }, () => SUCCESS);

    expect(report([...successes, takeTime(500_000)]).agents).toMatchObject([{ avgDurationMs: 1000 }]);
    expect(report([SUCCESS, ...successes, takeTime(500_000)]).agents).toMatchObject([
      { totalCalls: 501, avgDurationMs: 0 },
    ]);
  });
});
