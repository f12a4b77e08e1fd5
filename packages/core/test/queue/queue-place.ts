import { vi } from "vitest";
import type { Phase } from "../../src/protocol/turn-events.ts";
import type { TurnLimits } from "../../src/queue/turn-limits.ts";
import { createTurnQueue } from "../../src/queue/turn-queue.ts";
import { createTurnRate } from "../../src/queue/turn-rate.ts";

/** A turn in the queue, which runs until the test ends it. */
export type PlacedCall = {
  readonly name: string;
  readonly result: Promise<string>;
  readonly end: () => void;
  readonly phases: readonly Phase[];
};

type CallOptions = { readonly agent?: string; readonly session?: string; readonly signal?: AbortSignal };

/** Creates a queue whose turns run until a test ends them. */
export function createQueuePlace(limits: Partial<TurnLimits>, turnsPerMinute?: number) {
  const queue = createTurnQueue(
    { concurrent: 1, queued: 1000, agents: new Map(), ...limits },
    createTurnRate({ all: turnsPerMinute, agents: new Map() }),
  );
  const calls: PlacedCall[] = [];
  const started: string[] = [];
  const ended = new Set<string>();

  function call(name: string, { agent = "agent", session, signal }: CallOptions = {}): PlacedCall {
    const phases: Phase[] = [];
    let end = (): void => {};
    const gate = new Promise<void>((resolve) => (end = resolve));
    const turn = { agent, session, signal, onPhase: (phase: Phase) => void phases.push(phase) };
    const result = queue.enter(turn).then(async ({ leave }) => {
      started.push(name);
      await gate;
      leave();
      return name;
    });
    const over = (): void => void ended.add(name);
    result.then(over, over);
    const made = { name, result, end, phases };
    calls.push(made);
    return made;
  }

  return {
    queue,
    call,
    started,
    byName: (name: string | undefined) => calls.find((each) => each.name === name),
    running: () => started.filter((name) => !ended.has(name)),
    waiting: () => calls.map(({ name }) => name).filter((name) => !started.includes(name) && !ended.has(name)),
    advance: () => void vi.advanceTimersByTime(1000),
  };
}

/** Waits until all pending callbacks have run. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
