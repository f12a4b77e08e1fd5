import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CERTIFICATE_REFUSED, type EgressReport } from "@budgie/core";
import type { TurnProgress } from "@budgie/core/protocol";
import { createLiveStatus } from "../../../src/commands/run/live-status.ts";

const RUNNING: TurnProgress = {
  phase: "running",
  attempt: 1,
  agent: "reader",
  runId: "r",
  sessionId: undefined,
  sinceMs: 0,
};

function denying(...hosts: readonly string[]): EgressReport {
  return { allowed: [], denied: hosts.map((host) => ({ host, port: 443, count: 1, why: "x" })) };
}

describe("the live status of a turn", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function create() {
    const shown: string[] = [];
    const status = createLiveStatus({ show: (text) => void shown.push(text), clear: () => void shown.push("") });
    /** Returns the parts of the line that is shown a moment later. */
    const parts = () => {
      vi.advanceTimersByTime(250);
      return shown.at(-1)?.split("  |  ").slice(1);
    };
    return { ...status, shown, parts };
  }

  it("begins with the turn's first phase, and is shown again and again until it is removed", () => {
    const { clear, events, shown } = create();
    events.emit("output", Buffer.from("early"), "stdout");
    vi.advanceTimersByTime(1_000);
    expect(shown).toEqual([]);

    events.emit("phase", RUNNING);
    vi.advanceTimersByTime(500);
    expect(shown).toHaveLength(3);
    expect(shown[0]).toMatch(/reader.*  \|  early$/);

    clear();
    vi.advanceTimersByTime(1_000);
    expect(shown.slice(3)).toEqual([""]);
  });

  it("has an agent's activity once", () => {
    const { events, parts, shown } = create();
    events.emit("phase", { ...RUNNING, activity: "Edit a.ts" });
    events.emit("output", Buffer.from("\n[Edit a.ts]\n"), "stdout");

    expect(parts()).toEqual([]);
    expect(shown.at(-1)).toMatch(/: Edit a\.ts$/);
  });

  it("has the last line that the agent printed, without colours, and with characters that came in two chunks", () => {
    const { events, parts } = create();
    events.emit("phase", RUNNING);
    const [first, second] = [
      Buffer.from("> \u001B[1mLooking\u001B[0m\n> Gr\u00fc").subarray(0, -1),
      Buffer.from("\u00fcn"),
    ];

    events.emit("output", first, "stdout");
    events.emit("output", Buffer.from("an error"), "stderr");
    events.emit("output", second.subarray(1), "stdout");
    events.emit("output", Buffer.from("\n  \n"), "stdout");

    expect(parts()).toEqual(["Gr\u00fcn"]);
  });

  it("names each refused host once", () => {
    const { events, parts } = create();
    events.emit("phase", RUNNING);

    events.emit("egress", denying("a.test", "b.test"));
    events.emit("egress", denying("a.test", "c.test", "d.test", "e.test", "f.test"));

    expect(parts()).toEqual(["refused: a.test, b.test, c.test, d.test, e.test"]);
  });

  it("names hosts that were not reached, and the option for a certificate that was not accepted", () => {
    const { events, parts } = create();
    events.emit("phase", RUNNING);
    const failed = ["ECONNREFUSED", CERTIFICATE_REFUSED].map((why) => ({ host: "a.test", port: 443, count: 1, why }));

    events.emit("egress", { allowed: [], denied: [], failed });
    events.emit("egress", { allowed: [], denied: [], failed });

    const certificate = "the program did not accept its certificate; --ca-file adds one to trust";
    expect(parts()).toEqual([`not reached: a.test (ECONNREFUSED), a.test (${certificate})`]);
  });
});

it("bounds and sanitizes what an agent and its hosts put into a terminal's last line", () => {
  const shown: string[] = [];
  const status = createLiveStatus({ show: (text) => shown.push(text), clear: () => undefined });
  const denied = Array.from({ length: 20 }, (_, index) => {
    return { host: `${index}-${"h".repeat(300)}`, port: 443, count: 1, why: "not on the allow-list" };
  });

  status.events.emit("egress", { allowed: [], denied });
  for (let index = 0; index < 100; index++) status.events.emit("output", Buffer.from("x".repeat(10_000)), "stdout");
  status.events.emit("output", Buffer.from("\u001B]0;title\u0007\u009B2Jthe end\r"), "stdout");
  const sinceMs = performance.now();
  status.events.emit("phase", {
    agent: "worker",
    runId: "1",
    sessionId: undefined,
    phase: "running",
    attempt: 1,
    sinceMs,
  });
  status.clear();

  const [line = ""] = shown;
  expect(line).toMatch(/^worker: running {2}\| {2}refused: 0-h+, 1-h+, 2-h+, 3-h+, 4-h+ {2}\| {2}x+the end$/);
  expect(line).not.toMatch(/\p{Cc}/u);
  expect(line.length).toBeLessThan(5_000);
});
