import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { BudgieError } from "@budgie/core";
import { createShutdown } from "../../src/process/shutdown.ts";
import { createBudgieUser } from "../helpers/start-budgie.ts";

const EVENTS = ["SIGTERM", "SIGINT", "SIGHUP", "uncaughtException"] as const;

describe("createShutdown", () => {
  const listeners = new Map(EVENTS.map((event) => [event, process.rawListeners(event)]));
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => {
    vi.useRealTimers();
    for (const event of EVENTS) {
      for (const listener of process.rawListeners(event)) {
        if (!listeners.get(event)?.includes(listener)) process.off(event, listener as () => void);
      }
    }
  });

  function start() {
    const exits: number[] = [];
    const lines: string[] = [];
    const shutdown = createShutdown({ exit: (code) => exits.push(code), report: (line) => lines.push(line) });
    return { exits, lines, shutdown };
  }

  it("exits with 0 when everything is closed", async () => {
    const { exits, shutdown } = start();
    let isClosed = false;
    shutdown.onBegin(async () => void (isClosed = true));

    shutdown.begin();
    await vi.advanceTimersByTimeAsync(0);

    expect({ exits, isClosed }).toEqual({ exits: [0], isClosed: true });
  });

  it("closes once, however often it is begun", async () => {
    const { exits, shutdown } = start();
    let times = 0;
    shutdown.onBegin(async () => void times++);

    shutdown.begin();
    shutdown.begin();
    await vi.advanceTimersByTimeAsync(0);

    expect({ exits, times }).toEqual({ exits: [0], times: 1 });
  });

  it("gives up within 10 s, and says how to clean up", async () => {
    const { exits, lines, shutdown } = start();
    shutdown.onBegin(() => new Promise(() => undefined));

    shutdown.begin();
    await vi.advanceTimersByTimeAsync(9_000);
    const exitsBefore = [...exits];
    await vi.advanceTimersByTimeAsync(1_000);

    expect({ exitsBefore, exits }).toEqual({ exitsBefore: [], exits: [1] });
    expect(lines).toEqual(['Could not clean up within 9.5 s. "budgie gc-volumes" removes what is left.']);
  });

  it("exits with 1 when something cannot be closed, and says what", async () => {
    const { exits, lines, shutdown } = start();
    shutdown.onBegin(() => Promise.reject(new BudgieError("RUNNER_UNAVAILABLE", "The engine is gone.")));

    shutdown.begin();
    await vi.advanceTimersByTimeAsync(0);

    expect(exits).toEqual([1]);
    expect(lines).toEqual(['Could not clean up: The engine is gone. "budgie gc-volumes" removes what is left.']);
  });

  it("takes two signals within 100 ms for one, and exits at once with 1 at a later one", async () => {
    const { exits, shutdown } = start();
    shutdown.onBegin(() => new Promise(() => undefined));

    process.emit("SIGINT");
    process.emit("SIGINT");
    const exitsBefore = [...exits];
    await vi.advanceTimersByTimeAsync(200);
    process.emit("SIGTERM");

    expect({ exitsBefore, exits }).toEqual({ exitsBefore: [], exits: [1] });
  });
});

describe("a bug in budgie", () => {
  it("ends it in order with exit code 70, and its stack on stderr", async () => {
    await using user = await createBudgieUser();
    const bug = "process.on('SIGUSR2', () => { throw new Error('a bug') })";
    const { ask, child, ended, stderr } = await user.start({
      env: { NODE_OPTIONS: `--import "data:text/javascript,${bug}"` },
    });
    await ask("code-reviewer", { prompt: "Hello" });

    child.kill("SIGUSR2");

    expect(await ended).toEqual({ exitCode: 70, signal: null });
    expect(stderr()).toMatch(/budgie: Error: a bug\n {4}at /);
  });
});
