import { EventEmitter } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { BudgieError } from "@budgie/core";
import { createShutdown } from "../../src/process/shutdown.ts";

describe("createShutdown", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function start() {
    const exits: number[] = [];
    const lines: string[] = [];
    const events = new EventEmitter();
    const report = (line: string): unknown => lines.push(line);
    const shutdown = createShutdown({ events, exit: (code) => exits.push(code), report });
    return { events, exits, lines, shutdown };
  }

  it("exits with 0 once everything is closed", async () => {
    const { exits, shutdown } = start();
    let isClosed = false;
    shutdown.onBegin(async () => void (isClosed = true));

    shutdown.begin();
    await vi.advanceTimersByTimeAsync(0);

    expect({ exits, isClosed }).toEqual({ exits: [0], isClosed: true });
  });

  it("closes once, however often it is called", async () => {
    const { exits, shutdown } = start();
    let times = 0;
    shutdown.onBegin(async () => void times++);

    shutdown.begin();
    shutdown.begin();
    await vi.advanceTimersByTimeAsync(0);

    expect({ exits, times }).toEqual({ exits: [0], times: 1 });
  });

  it("times out within 10 s, and says how to clean up", async () => {
    const { exits, lines, shutdown } = start();
    shutdown.onBegin(() => new Promise(() => undefined));

    shutdown.begin();
    await vi.advanceTimersByTimeAsync(9_000);
    const exitsBefore = [...exits];
    await vi.advanceTimersByTimeAsync(1_000);

    expect({ exitsBefore, exits }).toEqual({ exitsBefore: [], exits: [1] });
    expect(lines).toEqual(['Could not clean up within 9.5 s. "budgie gc" removes what is left.']);
  });

  it("exits with 1 if something cannot be closed, and names it", async () => {
    const { exits, lines, shutdown } = start();
    shutdown.onBegin(() => Promise.reject(new BudgieError("RUNNER_UNAVAILABLE", "The engine is gone.")));

    shutdown.begin();
    await vi.advanceTimersByTimeAsync(0);

    expect(exits).toEqual([1]);
    expect(lines).toEqual(['Could not clean up: The engine is gone. "budgie gc" removes what is left.']);
  });

  it("treats two signals within 100 ms as one, and exits at once with 1 on a later one", async () => {
    const { events, exits, shutdown } = start();
    shutdown.onBegin(() => new Promise(() => undefined));

    events.emit("SIGINT");
    events.emit("SIGINT");
    const exitsBefore = [...exits];
    await vi.advanceTimersByTimeAsync(200);
    events.emit("SIGTERM");

    expect({ exitsBefore, exits }).toEqual({ exitsBefore: [], exits: [1] });
  });
});
