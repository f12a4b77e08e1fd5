import { expect, it } from "vitest";
import { createReadySessions, type Preparable } from "../../src/session/ready-sessions.ts";

type Opening = {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (reason: Error) => void;
};

type Made = Preparable & { readonly name: number; lose(): void; readonly wasRemoved: () => boolean };

/** Makes sessions whose Pods open when their turn comes. */
function createMaker() {
  const made: Made[] = [];
  const openings: Opening[] = [];
  async function open(): Promise<Made> {
    const opening = createOpening();
    openings.push(opening);
    const [state, name] = [{ isLost: false, isRemoved: false }, made.length];
    const session: Made = {
      name,
      warmUp: () => opening.promise,
      isLost: () => state.isLost,
      lose: () => void (state.isLost = true),
      remove: async () => void (state.isRemoved = true),
      wasRemoved: () => state.isRemoved,
    };
    made.push(session);
    return session;
  }
  return { made, openings, open };
}

function createOpening(): Opening {
  let [resolve, reject]: [() => void, (reason: Error) => void] = [() => undefined, () => undefined];
  const promise = new Promise<void>((...settlers) => ([resolve, reject] = settlers));
  return { promise, resolve, reject };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("as many sessions are made as are missing, and those with a Pod are taken first", async () => {
  const { made, open, openings } = createMaker();
  const ready = createReadySessions(2, open);
  expect(ready.take()).toBeUndefined();
  ready.prepare();
  ready.prepare();
  await settle();
  expect(made.length).toBe(2);
  openings[1]?.resolve();
  await settle();
  expect(ready.count()).toBe(1);

  expect((await ready.take())?.name).toBe(1);
});

it("a session on the way to its Pod is taken without a wait for that, and is its taker's if that fails", async () => {
  const { made, open, openings } = createMaker();
  const ready = createReadySessions(1, open);
  ready.prepare();
  await settle();
  expect((await ready.take())?.name).toBe(0);
  openings[0]?.reject(new Error("no room"));
  await settle();
  expect(made[0]?.wasRemoved()).toBe(false);
  await ready.close();
  expect(made[0]?.wasRemoved()).toBe(false);
});

it("a session that is being removed is not taken", async () => {
  const { open, openings } = createMaker();
  let finish: () => void = () => undefined;
  const removed = new Promise<void>((resolve) => (finish = resolve));
  const ready = createReadySessions(1, async () => ({ ...(await open()), remove: () => removed }));
  ready.prepare();
  await settle();
  openings[0]?.reject(new Error("no room"));
  await settle();
  expect(ready.take()).toBeUndefined();
  finish();
});

it("a session that cannot be opened is none", async () => {
  const ready = createReadySessions<Made>(1, () => Promise.reject(new Error("full disk")));
  ready.prepare();
  expect(await ready.take()).toBeUndefined();
});

it("a session that could not be made is removed, and its place is free again", async () => {
  const { made, open, openings } = createMaker();
  const ready = createReadySessions(1, open);
  ready.prepare();
  await settle();
  openings[0]?.reject(new Error("no room"));
  await settle();
  expect(made[0]?.wasRemoved()).toBe(true);
  expect(ready.take()).toBeUndefined();
  ready.prepare();
  await settle();
  expect(made.length).toBe(2);
});

it("a session whose Pod was lost is not taken, and all are removed at the end", async () => {
  const { made, open, openings } = createMaker();
  const ready = createReadySessions(2, open);
  ready.prepare();
  await settle();
  for (const opening of openings) opening.resolve();
  await settle();
  made[0]?.lose();

  expect((await ready.take())?.name).toBe(1);
  expect(made[0]?.wasRemoved()).toBe(true);
  ready.prepare();
  await settle();
  for (const opening of openings) opening.resolve();
  await ready.close();
  expect(made.map((one) => one.wasRemoved())).toEqual([true, false, true, true]);
  ready.prepare();
  expect(made.length).toBe(4);
});

it("a session that waits for its Pod is removed at the end, which ends the wait", async () => {
  const { made, open, openings } = createMaker();
  const ready = createReadySessions(1, async () => {
    const session = await open();
    const remove = async (): Promise<void> => {
      await session.remove();
      openings[0]?.reject(new Error("removed"));
    };
    return { ...session, remove };
  });
  ready.prepare();
  await settle();
  await ready.close();
  expect(made[0]?.wasRemoved()).toBe(true);
});
