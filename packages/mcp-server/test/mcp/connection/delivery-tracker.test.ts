import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createDeliveryTracker } from "../../../src/mcp/connection/delivery-tracker.ts";
import type { DeliveryState } from "../../../src/mcp/connection/client-transport.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "setTimeout"] }));
afterEach(() => void vi.useRealTimers());

describe("createDeliveryTracker", () => {
  it("counts an answer as dropped if its cancellation crosses with it", () => {
    const { answer, cancel, states } = follow();
    answer.delivered();
    vi.advanceTimersByTime(50);
    cancel();
    cancel();

    expect(states).toEqual(["delivered", "dropped"]);
  });

  it("counts an answer as delivered if its request is cancelled later", () => {
    const { answer, cancel, states } = follow();
    answer.delivered();
    vi.advanceTimersByTime(51);
    cancel();

    expect(states).toEqual(["delivered"]);
  });

  it("counts an answer as dropped if it could not be written before its cancellation, however long that took", () => {
    const { answer, cancel, states } = follow();
    vi.advanceTimersByTime(10_000);
    cancel();
    answer.delivered();

    expect(states).toEqual(["dropped"]);
  });
});

function follow() {
  const followed = createDeliveryTracker({ crossingMs: 50 });
  const states: DeliveryState[] = [];
  const answer = followed.follow(1, (state) => void states.push(state));
  return { answer, states, cancel: () => followed.drop(1) };
}
