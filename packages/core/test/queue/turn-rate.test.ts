import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createTurnRate } from "../../src/queue/turn-rate.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

const NONE = new Map<string, number>();

describe("a turn rate", () => {
  it("admits any number of turns without a limit", () => {
    const { take } = createTurnRate({ all: undefined, agents: NONE });

    expect(() => Array.from({ length: 1000 }, () => take("a"))).not.toThrow();
  });

  it("refuses turns over the limit of all agents, and says when to try again", () => {
    const { take } = createTurnRate({ all: 2, agents: NONE });
    take("a");
    vi.advanceTimersByTime(20_500);
    take("b");

    expect(() => take("c")).toThrow(
      expect.objectContaining({
        code: "RATE_LIMITED",
        message: "The agents have used up their 2 turns per minute. Nothing was started. Try again in 40s.",
      }),
    );
  });

  it("admits at most the limit in any 60 s", () => {
    const { take } = createTurnRate({ all: 2, agents: NONE });
    take("a");
    vi.advanceTimersByTime(59_000);
    take("a");
    vi.advanceTimersByTime(1_000);
    take("a");

    expect(() => take("a")).toThrow(expect.objectContaining({ message: expect.stringContaining("again in 59s") }));
    vi.advanceTimersByTime(59_000);
    expect(() => take("a")).not.toThrow();
  });

  it("limits one agent and not the others", () => {
    const { take } = createTurnRate({ all: undefined, agents: new Map([["a", 1]]) });
    take("a");
    take("b");
    take("b");

    expect(() => take("a")).toThrow(expect.objectContaining({ message: expect.stringContaining('The agent "a" has') }));
  });

  it("does not count refused turns", () => {
    const { take } = createTurnRate({ all: 2, agents: new Map([["a", 1]]) });
    take("a");
    expect(() => take("a")).toThrow("turns per minute");

    expect(() => take("b")).not.toThrow();
    expect(() => take("b")).toThrow("turns per minute");
  });
});
