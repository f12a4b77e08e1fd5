import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createPlaceAhead, type PlaceOptions } from "../../src/ahead/place-ahead.ts";

const MINUTE_MS = 60_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("createPlaceAhead", () => {
  it("makes one thing, however often it is prepared, and gives it to one caller", async () => {
    const { ahead, made } = createPlace();
    ahead.prepare();
    ahead.prepare();
    await settle();

    expect([made.length, ahead.state()]).toEqual([1, "ready"]);
    expect(await ahead.take()).toBe("thing 1");
    expect([ahead.take(), ahead.state()]).toEqual([undefined, "empty"]);
  });

  it("gives the one that is being made, and never waits for a quiet time", async () => {
    const place = createPlace({ isQuiet: false });
    place.ahead.prepare();
    await settle();

    expect(place.ahead.state()).toBe("waiting");
    expect(place.ahead.take()).toBeUndefined();
    place.quieten();
    await settle();
    expect(place.made).toEqual([]);

    const { ahead, finish } = await startMaking();
    expect(ahead.state()).toBe("making");
    const taken = ahead.take();
    finish("slow thing");
    expect(await taken).toBe("slow thing");
    expect(ahead.state()).toBe("empty");
  });

  it("makes another one when asked to renew, if one was ever prepared", async () => {
    const { ahead, made } = createPlace();
    ahead.renew();
    await settle();
    expect(made).toEqual([]);

    ahead.prepare();
    await settle();
    await ahead.take();
    ahead.renew();
    await settle();
    expect(await ahead.take()).toBe("thing 2");
  });

  it("removes one that nobody took in time, and none that was taken", async () => {
    const { ahead, removed } = createPlace();
    ahead.prepare();
    await settle();
    await vi.advanceTimersByTimeAsync(5 * MINUTE_MS - 1);
    expect(removed).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect([removed, ahead.state(), ahead.take()]).toEqual([["thing 1"], "empty", undefined]);

    ahead.prepare();
    await settle();
    await ahead.take();
    await vi.advanceTimersByTimeAsync(5 * MINUTE_MS);
    expect(removed).toEqual(["thing 1"]);
  });

  it("removes one within seconds that may not stay", async () => {
    let isFree = true;
    const { ahead, removed } = createPlace({ mayKeep: () => isFree });
    ahead.prepare();
    await settle();
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    isFree = false;
    expect([removed, ahead.state()]).toEqual([[], "ready"]);
    await vi.advanceTimersByTimeAsync(5000);

    expect([removed, ahead.state()]).toEqual([["thing 1"], "empty"]);
  });

  it("gives nothing after a failure, and tries again when it is asked to", async () => {
    const attempts: ((thing: Promise<string>) => void)[] = [];
    const { ahead } = createPlace({ make: () => new Promise((resolve) => attempts.push(resolve)) });
    ahead.prepare();
    await settle();
    const taken = ahead.take();
    attempts[0]?.(Promise.reject(new Error("no engine")));
    expect([await taken, ahead.state()]).toEqual([undefined, "empty"]);

    ahead.prepare();
    await settle();
    attempts[1]?.(Promise.reject(new Error("no engine")));
    await settle();
    expect(ahead.take()).toBeUndefined();
    ahead.prepare();
    await settle();
    attempts[2]?.(Promise.resolve("later"));
    expect(await ahead.take()).toBe("later");
  });

  it("makes none if that is not good for the machine once it is quiet", async () => {
    const { ahead, made } = createPlace({ mayMake: () => false });
    ahead.prepare();
    await settle();

    expect([made.length, ahead.state()]).toEqual([0, "empty"]);
  });

  it("waits at its close for one that was taken while it was made, which its taker removes", async () => {
    const { ahead, finish, removed } = await startMaking();
    const taken = ahead.take();
    const closed = ahead.close();
    const first = await Promise.race([closed.then(() => "closed"), settle().then(() => "settled")]);
    finish("late thing");
    await closed;

    expect([first, await taken, removed]).toEqual(["settled", "late thing", []]);
  });

  it("removes it when it is closed, also one that is being made, and makes no more", async () => {
    const { ahead, finish, removed } = await startMaking();
    const closed = ahead.close();
    finish("late thing");
    await closed;
    ahead.prepare();
    await settle();

    expect([removed, ahead.state()]).toEqual([["late thing"], "empty"]);
  });
});

async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

type Options = Partial<PlaceOptions<string>> & { readonly isQuiet?: boolean; readonly make?: () => Promise<string> };

function createPlace({ isQuiet = true, make, ...options }: Options = {}) {
  const [made, removed]: [string[], string[]] = [[], []];
  let quieten: () => void = () => undefined;
  const place = createPlaceAhead<string>({
    untilQuiet: (signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
        quieten = resolve;
        if (isQuiet) resolve();
      }),
    remove: async (thing) => void removed.push(thing),
    mayMake: () => true,
    mayKeep: () => true,
    idleMs: 5 * MINUTE_MS,
    ...options,
  });
  async function makeNext(): Promise<string> {
    made.push(`thing ${made.length + 1}`);
    return made.at(-1) ?? "";
  }
  return {
    ahead: { ...place, prepare: () => place.prepare(make ?? makeNext) },
    made,
    removed,
    quieten: () => quieten(),
  };
}

/** Creates a place where one is being made until the test finishes it. */
async function startMaking() {
  let finish: (thing: string) => void = () => undefined;
  const place = createPlace({ make: () => new Promise((resolve) => (finish = resolve)) });
  place.ahead.prepare();
  await settle();
  return { ...place, finish: (thing: string) => finish(thing) };
}
