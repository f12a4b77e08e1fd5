import { expect, it } from "vitest";
import { connectPair, type Cuts } from "../helpers/connect-pair.ts";
import { createEnds } from "../helpers/record-turn.ts";
import { createRandom } from "../helpers/create-random.ts";

// Many small runs take long on a busy machine.
const LONG = { timeout: 180_000 };

/** Runs the recorded turn over connections that break at these bytes, the last of them never. Returns what both ends saw, and the writes. */
async function run(cuts: readonly Cuts[]) {
  const writes = { toPod: [0], toBudgie: [0] };
  let attached = -1;
  let broken = 0;
  const connect = (): void => {
    attached += 1;
    const pair = connectPair(cuts[attached], (direction, bytes) => writes[direction].push(bytes));
    ends.budgie.attach(pair.budgie);
    ends.pod.attach(pair.pod);
  };
  // Both ends hear of it, and both get the next connection.
  const ends = createEnds(() => (++broken % 2 === 0 ? connect() : undefined));
  connect();
  const failed = Promise.race([ends.budgie.ended, ends.pod.ended]).then((reason) => {
    throw reason ?? new Error("The wire ended.");
  });
  const seen = await Promise.race([ends.seen, failed]);
  failed.catch(() => undefined);
  ends.budgie.close();
  ends.pod.close();
  return { seen, attached, writes };
}

const toBoundaries = (lengths: readonly number[]): readonly number[] => {
  let sum = 0;
  return lengths.map((length) => (sum += length));
};

/** Returns the runs, named by their connections, that were not seen like the whole one. */
async function listDifferent(all: readonly (readonly Cuts[])[], whole: readonly string[]): Promise<readonly string[]> {
  const seen = await Promise.all(all.map(async (cuts) => ({ cuts, seen: (await run(cuts)).seen })));
  return seen.filter((one) => one.seen.join() !== whole.join()).map((one) => JSON.stringify(one));
}

it(
  "a turn is seen the same at both ends if the connection breaks at any boundary of its frames, or beside one",
  LONG,
  async () => {
    const { seen, writes } = await run([]);
    const cuts = (["toPod", "toBudgie"] as const).flatMap((direction) =>
      toBoundaries(writes[direction]).flatMap((boundary) =>
        [-1, 0, 9].map((offset) => [{ [direction]: Math.max(0, boundary + offset) }]),
      ),
    );

    expect(seen).toHaveLength(10);
    expect(cuts.length).toBeGreaterThan(75);
    expect(await listDifferent(cuts, seen)).toEqual([]);
  },
);

it("a turn is seen the same if the connection breaks at any of its first bytes", LONG, async () => {
  const { seen } = await run([]);
  const cuts = Array.from({ length: 60 }, (_, at) => [[{ toPod: at }], [{ toBudgie: at }]]).flat();

  expect(await listDifferent(cuts, seen)).toEqual([]);
});

it("a turn is seen the same over twenty connections that break at random bytes", LONG, async () => {
  const { seen } = await run([]);
  const cuts = Array.from({ length: 20 }, (_, seed) => {
    const random = createRandom(seed);
    return Array.from({ length: 20 }, () => ({ [random(2) === 0 ? "toPod" : "toBudgie"]: random(30_000) }));
  });

  expect(await listDifferent(cuts, seen)).toEqual([]);
});
