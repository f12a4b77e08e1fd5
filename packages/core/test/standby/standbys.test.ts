import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { AgentProcess } from "../../src/runner/runner.ts";
import type { Standby, StandbyPlace } from "../../src/standby/standby-place.ts";
import { createStandbys, type StandbysOptions } from "../../src/standby/standbys.ts";

const MINUTE_MS = 60_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("the standbys of a runner", () => {
  it("are those of the eight sessions with the latest turns, whether they were launched before or left", async () => {
    const { ended, open, standbys } = createTable({ most: 99 });
    const places: StandbyPlace<Standby>[] = [];
    for (let made = 0; made < 10; made++) {
      places.push(open(made % 2 === 0 ? "launched" : "left"));
      await settle();
    }
    const empty = (): unknown => places.flatMap((place, index) => (place.state() === "empty" ? [index] : []));
    expect(empty()).toEqual([0, 1]);
    expect([standbys.count(), ended()]).toEqual([8, 2]);

    await places[2]?.take();
    places[2]?.prepare(async () => createLaunched());
    await settle();
    places[0]?.prepare(async () => createLaunched());
    await settle();
    expect(empty()).toEqual([1, 3]);
  });

  it("are not made while as many as are allowed are being made", async () => {
    const { standbys } = createTable({ most: 1 });
    const [slow, late] = [standbys.open(), standbys.open()];
    slow.prepare(() => new Promise(() => undefined));
    late.prepare(async () => createLaunched());
    await settle();

    expect([slow.state(), late.state(), standbys.count()]).toEqual(["making", "empty", 0]);
  });

  it("end when their idle time is over, and none that was taken", async () => {
    const { ended, open, standbys } = createTable();
    open("launched");
    const [left, taken] = [open("left"), open("left")];
    await settle();
    await taken.take();
    await vi.advanceTimersByTimeAsync(5 * MINUTE_MS - 1);
    expect([ended(), standbys.count()]).toEqual([0, 2]);

    await vi.advanceTimersByTimeAsync(1);
    expect([ended(), standbys.count(), left.take()]).toEqual([2, 0, undefined]);
  });

  it("end within seconds when memory is short, and none is made or kept", async () => {
    let isShort = false;
    const { ended, open, standbys } = createTable({ isMemoryShort: () => isShort });
    open("launched");
    open("left");
    await settle();
    isShort = true;
    await vi.advanceTimersByTimeAsync(5000);
    expect([ended(), standbys.count()]).toEqual([2, 0]);

    open("launched");
    open("left");
    await settle();
    expect([ended(), standbys.count()]).toEqual([3, 0]);
  });

  it("are not made while turns start", async () => {
    const { open, standbys } = createTable({ untilQuiet: () => new Promise(() => undefined) });
    open("launched");
    await settle();

    expect(standbys.count()).toBe(0);
  });

  it("end with their sessions", async () => {
    const { ended, open, standbys } = createTable();
    const [launched, left] = [open("launched"), open("left")];
    await settle();
    await Promise.all([launched.close(), left.close()]);

    expect([ended(), standbys.count()]).toEqual([2, 0]);
  });
});

async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

let endedCount = 0;

function createLaunched(): Standby {
  return { key: "", end: async () => void endedCount++ };
}

function createTable(options: Partial<StandbysOptions> = {}) {
  endedCount = 0;
  const standbys = createStandbys({ idleMs: 5 * MINUTE_MS, isMemoryShort: () => false, ...options });
  return {
    standbys,
    ended: () => endedCount,
    /** Opens a place with a sandbox that is launched, or a process that a turn left */
    open: (kind: "launched" | "left"): StandbyPlace<Standby> => {
      const place = standbys.open();
      const process = { exit: new Promise(() => undefined) } as unknown as AgentProcess;
      if (kind === "launched") place.prepare(async () => createLaunched());
      else place.hold({ ...createLaunched(), process });
      return place;
    },
  };
}
