import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { createLiveHolders } from "../../src/session/idle-containers.ts";

const IDLE_MS = 50;

function createBook(most: number) {
  const stopped: string[] = [];
  const live = createLiveHolders({ idleMs: IDLE_MS, most });
  const holder = (name: string) => ({ stop: async () => void stopped.push(name) });
  return { live, holder, stopped };
}

it("stops a holder that nobody is in for a while, and no other", async () => {
  const { holder, live, stopped } = createBook(9);
  const [idle, busy] = [holder("idle"), holder("busy")];
  for (const one of [idle, busy]) live.enter(one);
  live.leave(idle);

  await sleep(3 * IDLE_MS);

  expect(stopped).toEqual(["idle"]);
});

it("counts the processes in a holder, and its time from the last one", async () => {
  const { holder, live, stopped } = createBook(9);
  const one = holder("one");
  live.enter(one);
  live.enter(one);
  live.leave(one);
  await sleep(3 * IDLE_MS);
  expect(stopped).toEqual([]);

  live.leave(one);
  await sleep(3 * IDLE_MS);
  expect(stopped).toEqual(["one"]);
});

it("stops the one that was used least recently when there are too many", () => {
  const { holder, live, stopped } = createBook(2);
  const [first, second, third] = [holder("first"), holder("second"), holder("third")];
  for (const one of [first, second, first]) {
    live.enter(one);
    live.leave(one);
  }

  live.enter(third);

  expect(stopped).toEqual(["second"]);
});

it("rather has too many than one stopped that somebody is in", () => {
  const { holder, live, stopped } = createBook(1);

  for (const name of ["first", "second", "third"]) live.enter(holder(name));

  expect(stopped).toEqual([]);
});

it("does not stop one that was forgotten, or entered again", async () => {
  const { holder, live, stopped } = createBook(9);
  const [gone, back] = [holder("gone"), holder("back")];
  for (const one of [gone, back]) {
    live.enter(one);
    live.leave(one);
  }
  live.forget(gone);
  live.enter(back);

  await sleep(3 * IDLE_MS);

  expect(stopped).toEqual([]);
});
