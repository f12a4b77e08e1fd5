import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { createIdleContainers } from "../../src/egress/idle-containers.ts";

const IDLE_MS = 50;

function createPlace(most: number) {
  const stopped: string[] = [];
  const idleContainers = createIdleContainers({ idleMs: IDLE_MS, most });
  const sessionContainer = (name: string) => ({ stop: async () => void stopped.push(name) });
  return { idleContainers, sessionContainer, stopped };
}

it("stops a session container that is idle for a while, and no other", async () => {
  const { sessionContainer, idleContainers, stopped } = createPlace(9);
  const [idle, busy] = [sessionContainer("idle"), sessionContainer("busy")];
  for (const one of [idle, busy]) idleContainers.acquire(one);
  idleContainers.release(idle);

  await sleep(3 * IDLE_MS);

  expect(stopped).toEqual(["idle"]);
});

it("counts the processes in a session container, and its time from the last one", async () => {
  const { sessionContainer, idleContainers, stopped } = createPlace(9);
  const one = sessionContainer("one");
  idleContainers.acquire(one);
  idleContainers.acquire(one);
  idleContainers.release(one);
  await sleep(3 * IDLE_MS);
  expect(stopped).toEqual([]);

  idleContainers.release(one);
  await sleep(3 * IDLE_MS);
  expect(stopped).toEqual(["one"]);
});

it("stops the one that was used least recently when there are too many", () => {
  const { sessionContainer, idleContainers, stopped } = createPlace(2);
  const [first, second, third] = [sessionContainer("first"), sessionContainer("second"), sessionContainer("third")];
  for (const one of [first, second, first]) {
    idleContainers.acquire(one);
    idleContainers.release(one);
  }

  idleContainers.acquire(third);

  expect(stopped).toEqual(["second"]);
});

it("exceeds the limit rather than stop one in use", () => {
  const { sessionContainer, idleContainers, stopped } = createPlace(1);

  for (const name of ["first", "second", "third"]) idleContainers.acquire(sessionContainer(name));

  expect(stopped).toEqual([]);
});

it("does not stop one that was forgotten or acquired again", async () => {
  const { sessionContainer, idleContainers, stopped } = createPlace(9);
  const [gone, back] = [sessionContainer("gone"), sessionContainer("back")];
  for (const one of [gone, back]) {
    idleContainers.acquire(one);
    idleContainers.release(one);
  }
  idleContainers.forget(gone);
  idleContainers.acquire(back);

  await sleep(3 * IDLE_MS);

  expect(stopped).toEqual([]);
});

it("stops on demand only the one that is idle longest, and long enough", () => {
  const { sessionContainer, idleContainers, stopped } = createPlace(9);
  const [busy, first, second] = [sessionContainer("busy"), sessionContainer("first"), sessionContainer("second")];
  for (const one of [busy, first, second]) idleContainers.acquire(one);
  for (const one of [first, second]) idleContainers.release(one);

  idleContainers.stopLongest(60_000);
  expect(stopped).toEqual([]);
  for (let count = 0; count < 3; count += 1) idleContainers.stopLongest(0);
  expect(stopped).toEqual(["first", "second"]);
});
