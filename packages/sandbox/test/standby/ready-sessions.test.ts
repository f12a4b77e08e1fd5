import { EventEmitter, once } from "node:events";
import { afterEach, expect, it } from "vitest";
import { createReadySessions, type Prepared } from "../../src/standby/ready-sessions.ts";

type Session = { readonly id: number; readonly warmUp: () => Promise<void>; readonly remove: () => Promise<void> };

const MOST = 4;
type Opened = { sessions: Prepared<Session>; made: number; atOnce: number; left: number };
let opened: Opened | undefined;
afterEach(() => opened?.sessions.close());

/** Creates a table on a runner that is always quiet. */
function create({ warmUp = async () => undefined }: { readonly warmUp?: (id: number) => Promise<void> } = {}): Opened {
  let making = 0;
  const starts = { activeCount: 0, pendingCount: 0 };
  const sessions: Prepared<Session> = createReadySessions<Session>(
    { idleMs: 60_000, isMemoryShort: () => false, most: MOST, starts, untilQuiet: async () => undefined },
    async () => {
      const id = ++place.made;
      place.left++;
      place.atOnce = Math.max(place.atOnce, ++making);
      return { id, warmUp: () => warmUp(id).finally(() => making--), remove: async () => void place.left-- };
    },
  );
  const place: Opened = { sessions, made: 0, atOnce: 0, left: 0 };
  return (opened = place);
}

it("makes none before it is asked to", async () => {
  const { sessions } = create();
  sessions.renew();

  expect([sessions.take(), sessions.count()]).toEqual([undefined, 0]);
});

it("has one ready, and another one after that was taken", async () => {
  const { sessions } = create();
  sessions.prepare();
  await expect.poll(sessions.count).toBe(1);

  expect((await sessions.take())?.session.id).toBe(1);
  sessions.renew();

  await expect.poll(sessions.count).toBe(1);
  expect((await sessions.take())?.session.id).toBe(2);
});

it("has as many ready as were taken at once, made one after another, up to the most", async () => {
  const place = create();
  const { sessions } = place;
  sessions.prepare();
  await expect.poll(sessions.count).toBe(1);

  const taken = await Promise.all(Array.from({ length: MOST + 1 }, async () => sessions.take()));
  sessions.renew();

  expect(taken.map((one) => one?.session.id)).toEqual([1, undefined, undefined, undefined, undefined]);
  await expect.poll(sessions.count).toBe(MOST);
  expect(place.atOnce).toBe(1);
  const next = await Promise.all(Array.from({ length: MOST }, async () => sessions.take()));
  expect(new Set(next.map((one) => one?.session.id)).size).toBe(MOST);
});

it("gives the one that is being made to who asks meanwhile, and nothing for one that failed", async () => {
  const events = new EventEmitter();
  const warmed = once(events, "warm").then(() => undefined);
  const { sessions } = create({
    warmUp: (id) => (id === 1 ? warmed : Promise.reject(new Error("It failed."))),
  });
  sessions.prepare();
  await expect.poll(() => opened?.made).toBe(1);
  const taking = sessions.take();
  events.emit("warm");

  expect((await taking)?.session.id).toBe(1);
  await expect.poll(() => [opened?.made, opened?.left]).toEqual([2, 1]);
  expect([sessions.take(), sessions.count()]).toEqual([undefined, 0]);
});

it("removes all that wait when it closes", async () => {
  const place = create();
  place.sessions.prepare();
  await expect.poll(place.sessions.count).toBe(1);

  await place.sessions.close();
  place.sessions.renew();

  expect([place.left, place.sessions.count()]).toEqual([0, 0]);
});
