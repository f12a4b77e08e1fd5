import { describe, expect, it } from "vitest";
import type { FailureReport } from "@budgie/core";
import { formatFailedSummary, formatSummary } from "../../src/runs/format-summary.ts";

const denied = (host: string, why = "not on the allow-list") => ({ host, port: 443, count: 3, why });
const changed = (files: number) => ({ first: [], files, more: 0 });

const summarize = (facts: FailureReport): string =>
  formatSummary({ ...facts, agent: "worker", durationMs: facts.durationMs ?? 11_680 });

describe("the line about a turn", () => {
  it("says how long it took, and what it changed, was refused and cost", () => {
    const egress = {
      allowed: [],
      denied: [denied("a"), denied("a", "known telemetry"), denied("b", "known telemetry")],
    };

    expect(summarize({ changedFiles: changed(3), egress, usage: { credits: 0.4, totalTokens: 9 } })).toBe(
      "worker: done in 11.7 s · 3 files changed · refused 1 host · 0.4 credits",
    );
  });

  it.each<[FailureReport, string]>([
    [{}, "worker: done in 11.7 s"],
    [{ changedFiles: changed(0) }, "worker: done in 11.7 s"],
    [{ changedFiles: changed(1) }, "worker: done in 11.7 s · 1 file changed"],
    [{ durationMs: 72_000 }, "worker: done in 1 m 12 s"],
    [{ usage: { cost: { amount: 0.25, currency: "USD" } } }, "worker: done in 11.7 s · 0.25 USD"],
    [{ usage: { cost: { amount: 1, currency: "x\nforged" } } }, "worker: done in 11.7 s"],
    [{ usage: { totalTokens: 12_345, basis: "turn" } }, "worker: done in 11.7 s · 12,345 tokens"],
    [{ usage: { totalTokens: 12_345, basis: "request" } }, "worker: done in 11.7 s"],
  ])("leaves out what is not known or nothing: %j", (facts, line) => {
    expect(summarize(facts)).toBe(line);
  });

  it.each([
    ["TIMED_OUT", 300_000, "worker: stopped after 5 m · 2 files changed"],
    ["CANCELLED", 3200, "worker: cancelled after 3.2 s · 2 files changed"],
    ["AGENT_CRASHED", 3200, "worker: failed after 3.2 s: AGENT_CRASHED · 2 files changed"],
    ["RUNNER_UNAVAILABLE", undefined, "worker: failed: RUNNER_UNAVAILABLE · 2 files changed"],
  ] as const)("says how it failed: %s", (code, durationMs, line) => {
    expect(formatFailedSummary({ code, report: { agent: "worker", durationMs, changedFiles: changed(2) } })).toBe(line);
  });

  it("is missing if the call was refused before it was a turn", () => {
    expect(formatFailedSummary({ code: "INPUT_INVALID", report: {} })).toBeUndefined();
  });
});
