import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { joinSignals } from "../../src/turn/join-signals.ts";

it("a wait that a caller cancels rejects with CANCELLED, and one that the session's end cancels with its reason", () => {
  const [ended, given] = [new AbortController(), new AbortController()];
  const [first, second] = [joinSignals(ended.signal, given.signal), joinSignals(ended.signal, undefined)];

  expect(getEventListeners(given.signal, "abort")).toEqual([]);
  given.abort();
  expect(first.reason).toMatchObject({ code: "CANCELLED" });
  expect(joinSignals(ended.signal, given.signal).reason).toMatchObject({ code: "CANCELLED" });
  ended.abort(new Error("over"));
  expect(second.reason).toEqual(new Error("over"));
});
