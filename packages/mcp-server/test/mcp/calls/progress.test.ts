import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ProgressNotification } from "@modelcontextprotocol/sdk/types.js";
import type { TurnProgress } from "@budgie/core/protocol";
import { createProgress, type Progress } from "../../../src/mcp/calls/progress.ts";

const HEARTBEAT_MS = 10_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] }));
afterEach(() => void vi.useRealTimers());

describe("createProgress", () => {
  it("reports a turn's phase with the client's token, in rising numbers", () => {
    const { progress, sent } = create({ token: "t" });
    progress.events.emit("phase", waiting(2));
    progress.events.emit("phase", waiting(1));
    progress.events.emit("phase", running());

    expect(sent).toEqual([
      toNotification("t", 1, "code-reviewer: waiting, 2nd in line"),
      toNotification("t", 2, "code-reviewer: waiting, 1st in line"),
      toNotification("t", 3, "code-reviewer: running"),
    ]);
  });

  it("reports a turn that continues every ten seconds, and how long its phase has lasted", () => {
    const { progress, sent } = create({ token: "t" });
    progress.events.emit("phase", waiting(2));
    vi.advanceTimersByTime(2 * HEARTBEAT_MS);
    progress.events.emit("phase", running());
    vi.advanceTimersByTime(8 * HEARTBEAT_MS);

    const messages = sent.map(({ params }) => params.message);
    expect(messages.slice(0, 5)).toEqual([
      "code-reviewer: waiting, 2nd in line",
      "code-reviewer: waiting, 2nd in line 10s",
      "code-reviewer: waiting, 2nd in line 20s",
      "code-reviewer: running",
      "code-reviewer: running 10s",
    ]);
    expect(messages.at(-1)).toBe("code-reviewer: running 1m20s");
    expect(sent.map(({ params }) => params.progress)).toEqual(sent.map((_, index) => index + 1));
  });

  it("reports that a call without a known phase continues", () => {
    const { sent } = create({ token: "t" });
    vi.advanceTimersByTime(HEARTBEAT_MS);

    expect(sent).toEqual([{ method: "notifications/progress", params: { progressToken: "t", progress: 1 } }]);
  });

  it("reports each of several turns, although their places are the same", () => {
    const { progress, sent } = create({ token: "t" });
    for (const runId of ["one", "two"]) progress.events.emit("phase", { ...running(), agent: runId, runId });

    expect(sent.map(({ params }) => params.message)).toEqual(["one: running", "two: running"]);
  });

  it("says which attempt runs, and does not repeat a place", () => {
    const { progress, sent } = create({ token: "t" });
    progress.events.emit("phase", { ...OF, phase: "starting", sinceMs: performance.now() });
    progress.events.emit("phase", { ...OF, phase: "starting", sinceMs: performance.now(), sessionId: "s" });
    const sinceMs = performance.now();
    progress.events.emit("phase", { ...OF, phase: "running", attempt: 1, sinceMs });
    vi.advanceTimersByTime(80_500 % HEARTBEAT_MS);
    progress.events.emit("phase", { ...OF, phase: "running", attempt: 2, sinceMs });
    vi.advanceTimersByTime(80_000);

    const messages = sent.map(({ params }) => params.message);
    expect(messages.slice(0, 3)).toEqual([
      "code-reviewer: starting",
      "code-reviewer: running",
      "code-reviewer: running, second try",
    ]);
    expect(messages.at(-1)).toBe("code-reviewer: running, second try, 1m20s");
  });

  it("accepts 0 and the empty string as tokens, and reports nothing without one", () => {
    const told = [0, "", undefined].map((token) => {
      const { progress, sent } = create({ token });
      progress.events.emit("phase", running());
      vi.advanceTimersByTime(HEARTBEAT_MS);
      return sent.length;
    });

    expect(told).toEqual([2, 2, 0]);
  });

  it("sends nothing after the answer", () => {
    const { progress, sent } = create({ token: 1 });
    progress.events.emit("phase", running());
    progress.end();
    progress.events.emit("phase", waiting(1));
    vi.advanceTimersByTime(10 * HEARTBEAT_MS);

    expect(sent).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("drops messages that a full pipe cannot take, and reports the latest once it can", () => {
    const { pipe, progress, sent } = create({ token: 1 });
    pipe.isFull = true;
    progress.events.emit("phase", waiting(1));
    progress.events.emit("phase", running());
    vi.advanceTimersByTime(3 * HEARTBEAT_MS);
    pipe.isFull = false;
    vi.advanceTimersByTime(HEARTBEAT_MS);

    expect(sent).toEqual([toNotification(1, 1, "code-reviewer: running 40s")]);
  });

  it("does not wait for clients, and survives one that disconnects", async () => {
    let tries = 0;
    const { events } = createProgress({
      token: 1,
      isFull: () => false,
      heartbeatMs: HEARTBEAT_MS,
      send: () => (++tries === 1 ? Promise.reject(new Error("Not connected")) : new Promise(() => undefined)),
    });
    events.emit("phase", waiting(2));
    events.emit("phase", waiting(1));
    events.emit("phase", running());
    vi.advanceTimersByTime(HEARTBEAT_MS);
    await new Promise((resolve) => setImmediate(resolve));

    expect(tries).toBe(4);
  });

  it.each([
    [1, "1st"],
    [2, "2nd"],
    [3, "3rd"],
    [4, "4th"],
    [11, "11th"],
    [12, "12th"],
    [13, "13th"],
    [21, "21st"],
    [102, "102nd"],
    [111, "111th"],
  ])("writes the place %i as %s", (position, text) => {
    const { progress, sent } = create({ token: 1 });
    progress.events.emit("phase", waiting(position));

    expect(sent).toEqual([toNotification(1, 1, `code-reviewer: waiting, ${text} in line`)]);
  });
});

type Created = {
  readonly sent: ProgressNotification[];
  readonly pipe: { isFull: boolean };
  readonly progress: Progress;
};

function create({ token }: { readonly token: string | number | undefined }): Created {
  const sent: ProgressNotification[] = [];
  const pipe = { isFull: false };
  const progress = createProgress({
    token,
    send: async (notification) => void sent.push(notification as ProgressNotification),
    isFull: () => pipe.isFull,
    heartbeatMs: HEARTBEAT_MS,
  });
  return { sent, pipe, progress };
}

const OF = { agent: "code-reviewer", runId: "r", sessionId: undefined };

function running(): TurnProgress {
  return { ...OF, phase: "running", attempt: 1, sinceMs: performance.now() };
}

function waiting(position: number): TurnProgress {
  return { ...OF, phase: "waiting", position, sinceMs: performance.now() };
}

function toNotification(progressToken: string | number, progress: number, message: string): ProgressNotification {
  return { method: "notifications/progress", params: { progressToken, progress, message } };
}
