import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createSweeper, type Sweep } from "../../src/garbage/sweeper.ts";

const INTERVAL_MS = 600_000;

describe("createSweeper", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function start(...sweeps: readonly Sweep[]) {
    const lines: string[] = [];
    const report = (line: string): number => lines.push(line);
    return { lines, sweeper: createSweeper({ sweeps, report, intervalMs: INTERVAL_MS }) };
  }

  it("sweeps at a long interval, also beyond the limit of timers", async () => {
    let times = 0;
    const sweeps = [async () => (times++, [])];
    createSweeper({ sweeps, report: () => undefined, intervalMs: 60 * 86_400_000 }).begin();

    await vi.advanceTimersByTimeAsync(60_000);

    expect(times).toBe(1);
  });

  it("sweeps a moment after its start, and then about every ten minutes", async () => {
    let times = 0;
    const { sweeper } = start(async () => (times++, []));

    await vi.advanceTimersByTimeAsync(INTERVAL_MS);
    const before = times;
    for (let calls = 0; calls < 3; calls++) sweeper.begin();
    const atOnce = times;
    await vi.advanceTimersByTimeAsync(1_300);
    const first = times;
    await vi.advanceTimersByTimeAsync(INTERVAL_MS * 0.79);
    const tooEarly = times;
    await vi.advanceTimersByTimeAsync(INTERVAL_MS * 0.42);
    const second = times;
    await vi.advanceTimersByTimeAsync(INTERVAL_MS * 10);

    expect({ before, atOnce, first, tooEarly, second }).toEqual({
      before: 0,
      atOnce: 0,
      first: 1,
      tooEarly: 1,
      second: 2,
    });
    expect(times).toBeGreaterThanOrEqual(10);
    expect(times).toBeLessThanOrEqual(15);
  });

  it("sweeps at other moments than another budgie", async () => {
    const moments = [new Set<number>(), new Set<number>()];
    for (const own of moments) {
      start(async () => (own.add(Date.now()), [])).sweeper.begin();
    }

    await vi.advanceTimersByTimeAsync(INTERVAL_MS * 10);

    const [one = new Set(), other = new Set()] = moments;
    expect(one.size).toBeGreaterThan(5);
    expect([...one].filter((moment) => other.has(moment)).length).toBeLessThan(one.size / 2);
  });

  it("does not start a sweep before the last one has ended", async () => {
    let running = 0;
    let most = 0;
    const { sweeper } = start(async () => {
      most = Math.max(most, ++running);
      await new Promise((done) => setTimeout(done, INTERVAL_MS * 3));
      running--;
      return [];
    });

    sweeper.begin();
    await vi.advanceTimersByTimeAsync(INTERVAL_MS * 20);

    expect(most).toBe(1);
  });

  it("reports an error once, continues, and reports it again after it was gone", async () => {
    let trouble: string | undefined = "The engine is gone.";
    let others = 0;
    const { lines, sweeper } = start(
      async () => {
        if (trouble !== undefined) throw new Error(trouble);
        return [];
      },
      async () => (others++, trouble === undefined ? [] : ["volume x: in use", "volume y: in use"]),
    );
    sweeper.begin();
    await vi.advanceTimersByTimeAsync(INTERVAL_MS * 3);
    const told = [...lines];

    trouble = undefined;
    await vi.advanceTimersByTimeAsync(INTERVAL_MS * 3);
    trouble = "The disk is full.";
    await vi.advanceTimersByTimeAsync(INTERVAL_MS * 3);

    expect(told).toEqual([expect.stringMatching(/: The engine is gone\. \(and 2 more\)$/)]);
    expect(lines).toEqual([told[0], expect.stringMatching(/: The disk is full\. \(and 2 more\)$/)]);
    expect(others).toBeGreaterThan(5);
  });

  it("never sweeps if that is disabled", async () => {
    let times = 0;
    const sweeper = createSweeper({ sweeps: [async () => (times++, [])], report: () => undefined, intervalMs: 0 });

    sweeper.begin();
    await vi.advanceTimersByTimeAsync(INTERVAL_MS * 3);

    expect(times).toBe(0);
  });

  it("does nothing once it is stopped, and starts no sweep", async () => {
    let times = 0;
    const { lines, sweeper } = start(async () => {
      times++;
      throw new Error("The engine is gone.");
    });
    sweeper.begin();

    sweeper.stop();
    sweeper.begin();
    await vi.advanceTimersByTimeAsync(INTERVAL_MS * 3);

    expect({ times, lines }).toEqual({ times: 0, lines: [] });
  });
});
