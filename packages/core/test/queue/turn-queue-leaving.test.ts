import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createQueuePlace, settle } from "./queue-place.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

describe("a turn that is cancelled while it waits", () => {
  it("leaves the queue at once, and those behind it move up", async () => {
    const { call, started, waiting, byName, advance } = createQueuePlace({ concurrent: 1 });
    const signal = new AbortController();
    call("running");
    const cancelled = call("cancelled", { session: "s", signal: signal.signal });
    const behind = call("behind");
    await settle();
    signal.abort();

    await expect(cancelled.result).rejects.toMatchObject({
      code: "CANCELLED",
      report: { sessionId: "s" },
      message: 'The turn of "agent" was cancelled before it began.',
    });
    advance();
    expect(waiting()).toEqual(["behind"]);
    expect(behind.phases.at(-1)).toEqual({ phase: "waiting", position: 1 });
    byName("running")?.end();
    await settle();
    expect(started).toEqual(["running", "behind"]);
  });

  it("makes room in a full queue", async () => {
    const { call, waiting } = createQueuePlace({ concurrent: 1, queued: 1 });
    const signal = new AbortController();
    call("running");
    const cancelled = call("cancelled", { signal: signal.signal });
    await settle();
    signal.abort();
    await expect(cancelled.result).rejects.toMatchObject({ code: "CANCELLED" });

    call("next");
    await settle();

    expect(waiting()).toEqual(["next"]);
  });

  it("does not take the place of the session's next turn", async () => {
    const { call, started, byName } = createQueuePlace({ concurrent: 1 });
    const signal = new AbortController();
    call("running");
    const first = call("s1", { session: "s", signal: signal.signal });
    call("s2", { session: "s" });
    call("other");
    await settle();
    signal.abort();
    await expect(first.result).rejects.toMatchObject({ code: "CANCELLED" });
    byName("running")?.end();
    await settle();

    expect(started).toEqual(["running", "s2"]);
  });

  it("does not begin if it was cancelled before it was queued", async () => {
    const { call, started } = createQueuePlace({ concurrent: 1 });

    await expect(call("late", { signal: AbortSignal.abort() }).result).rejects.toMatchObject({ code: "CANCELLED" });
    expect(started).toEqual([]);
  });

  it("is left to its task once it runs", async () => {
    const { call, running } = createQueuePlace({ concurrent: 1 });
    const signal = new AbortController();
    const turn = call("running", { signal: signal.signal });
    await settle();
    signal.abort();
    await settle();

    expect(running()).toEqual(["running"]);
    turn.end();
    await expect(turn.result).resolves.toBe("running");
  });
});

describe("a full turn queue", () => {
  it("refuses a turn that would have to wait, and says how many wait and run", async () => {
    const { call, waiting } = createQueuePlace({ concurrent: 2, queued: 3 });
    for (const name of ["a", "b", "c", "d", "e"]) call(name);

    await expect(call("f", { session: "s" }).result).rejects.toMatchObject({
      code: "QUEUE_FULL",
      report: { sessionId: "s" },
      message:
        'The queue is full: 3 turns wait, the most that the option "queued" allows, and 2 run. ' +
        'Nothing was started for "agent". Call again when some of them have ended.',
    });
    expect(waiting()).toEqual(["c", "d", "e"]);
  });

  it("accepts a turn that need not wait", async () => {
    const { call, running } = createQueuePlace({ concurrent: 2, queued: 1, agents: new Map([["slow", 1]]) });
    call("slow1", { agent: "slow" });
    call("slow2", { agent: "slow" });
    call("other");
    await settle();

    expect(running()).toEqual(["slow1", "other"]);
  });

  it("refuses all waiting turns if none may wait", async () => {
    const { call, running } = createQueuePlace({ concurrent: 1, queued: 0 });
    call("a");

    await expect(call("b").result).rejects.toMatchObject({ code: "QUEUE_FULL" });
    expect(running()).toEqual(["a"]);
  });

  it("does not count refused turns in the rate", async () => {
    const { call } = createQueuePlace({ concurrent: 1, queued: 0 }, 2);
    const first = call("a");
    await expect(call("refused").result).rejects.toMatchObject({ code: "QUEUE_FULL" });
    first.end();
    await first.result;
    const second = call("b");
    second.end();

    await expect(second.result).resolves.toBe("b");
    await expect(call("c").result).rejects.toMatchObject({ code: "RATE_LIMITED" });
  });
});
