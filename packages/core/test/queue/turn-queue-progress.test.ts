import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Phase } from "../../src/protocol/turn-events.ts";
import { createQueuePlace, settle } from "./queue-place.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

describe("a turn queue's progress", () => {
  it("reports the start of a turn that need not wait", async () => {
    const { call } = createQueuePlace({ concurrent: 1 });
    const { phases } = call("a", { agent: "reviewer" });
    await settle();

    expect(phases).toEqual([{ phase: "starting" }]);
  });

  it("reports the place at once, each change of it, and the start", async () => {
    const { call, byName, advance } = createQueuePlace({ concurrent: 1 });
    for (const name of ["a", "b", "c"]) call(name);
    const { phases } = call("d");
    const atOnce = [...phases];
    for (const name of ["a", "b", "c"]) {
      await settle();
      byName(name)?.end();
      await settle();
      advance();
    }

    expect(atOnce).toEqual([{ phase: "waiting", position: 3 }]);
    expect(phases.map(toPlace)).toEqual([3, 2, 1, "starting"]);
  });

  it("counts places across all sessions, which are served in rotation", async () => {
    const { call } = createQueuePlace({ concurrent: 1 });
    call("running");
    const places = [
      call("s1", { session: "s" }),
      call("s2", { session: "s" }),
      call("a1", { session: "a" }),
      call("s3", { session: "s" }),
      call("a2", { session: "a" }),
    ];
    await settle();

    expect(places.map(({ phases }) => phases.map(toPlace))).toEqual([[1], [2], [2], [4], [4]]);
  });

  it("corrects a place when a turn of another session goes first", async () => {
    const { call, advance } = createQueuePlace({ concurrent: 1 });
    call("running");
    const second = [call("s1", { session: "s" }), call("s2", { session: "s" })][1];
    call("a");
    advance();

    expect(second?.phases.map(toPlace)).toEqual([2, 3]);
  });

  it("reports a place only if it changed, and at most twice a second", async () => {
    const { call, byName, advance } = createQueuePlace({ concurrent: 1 });
    call("running");
    call("next");
    const last = call("last");
    advance();
    byName("running")?.end();
    await settle();
    vi.advanceTimersByTime(400);
    const early = last.phases.map(toPlace);
    advance();
    call("later");
    advance();

    expect([early, last.phases.map(toPlace)]).toEqual([[2], [2, 1]]);
  });

  it("reports many quick changes once", async () => {
    const { call, advance } = createQueuePlace({ concurrent: 1 });
    const signals = Array.from({ length: 50 }, () => new AbortController());
    call("running");
    const cancelled = signals.map(({ signal }, number) => call(`c${number}`, { signal }).result);
    const last = call("last");
    await settle();
    for (const signal of signals) signal.abort();
    await Promise.allSettled(cancelled);
    advance();

    expect(last.phases.map(toPlace)).toEqual([51, 1]);
  });
});

function toPlace(progress: Phase): number | "starting" {
  return progress.phase === "waiting" ? progress.position : "starting";
}
