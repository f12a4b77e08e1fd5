import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { AgentProcess } from "../../src/runner/runner.ts";
import { createStandbyPlace, type PlaceOptions, type Standby } from "../../src/standby/standby-place.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("the place of a standby", () => {
  it("makes one thing, however often it is prepared, and gives it to one caller", async () => {
    const { place, made } = createPlace();
    place.prepare();
    place.prepare();
    await settle();

    expect([made.length, place.state()]).toEqual([1, "ready"]);
    expect(await place.take()).toMatchObject({ name: "thing 1" });
    expect([place.take(), place.state()]).toEqual([undefined, "empty"]);
  });

  it("gives the one that is being made, and never waits for a quiet time", async () => {
    const setup = createPlace({ isQuiet: false });
    setup.place.prepare();
    await settle();

    expect(setup.place.state()).toBe("pending");
    expect(setup.place.take()).toBeUndefined();
    setup.quieten();
    await settle();
    expect(setup.made).toEqual([]);

    const { place, finish } = await startMaking();
    expect(place.state()).toBe("making");
    const taken = place.take();
    finish("slow thing");
    expect(await taken).toMatchObject({ name: "slow thing" });
    expect(place.state()).toBe("empty");
  });

  it("holds a process until it is taken, or has ended", async () => {
    const { place, removed } = createPlace();
    const [first, second] = [createHeld("first"), createHeld("second")];
    place.hold(first);
    expect([place.state(), await place.take(), place.state()]).toEqual(["held", first, "empty"]);

    place.hold(second);
    second.exit();
    await settle();
    expect([place.state(), place.take(), removed]).toEqual(["empty", undefined, []]);
  });

  it("ends a process that is held once it is closed", async () => {
    const { place } = createPlace();
    const [first, second] = [createHeld("first"), createHeld("second")];
    place.hold(first);
    await place.close();
    place.hold(second);
    await settle();

    expect([first.ended(), second.ended(), place.state()]).toEqual([true, true, "empty"]);
  });

  it("tells when one that was to end has ended, or could not", async () => {
    const { place } = createPlace();
    const held = createHeld("first");
    place.hold({ ...held, end: () => Promise.reject(new Error("no engine")) });
    const cleared = place.clear();

    await expect(place.cleared()).rejects.toThrow("no engine");
    await expect(cleared).rejects.toThrow("no engine");
    await expect(place.cleared()).resolves.toBeUndefined();
  });

  it("gives nothing after a failure, and tries again when it is asked to", async () => {
    const attempts: ((thing: Promise<string>) => void)[] = [];
    const { place } = createPlace({ make: () => new Promise((resolve) => attempts.push(resolve)) });
    place.prepare();
    await settle();
    const taken = place.take();
    attempts[0]?.(Promise.reject(new Error("no engine")));
    expect([await taken, place.state()]).toEqual([undefined, "empty"]);

    place.prepare();
    await settle();
    attempts[1]?.(Promise.reject(new Error("no engine")));
    await settle();
    expect(place.take()).toBeUndefined();
    place.prepare();
    await settle();
    attempts[2]?.(Promise.resolve("later"));
    expect(await place.take()).toMatchObject({ name: "later" });
  });

  it("makes none if that is not good for the machine once it is quiet", async () => {
    const { place, made } = createPlace({ mayMake: () => false });
    place.prepare();
    await settle();

    expect([made.length, place.state()]).toEqual([0, "empty"]);
  });

  it("waits at its close for one that was taken while it was made, which its taker removes", async () => {
    const { place, finish, removed } = await startMaking();
    const taken = place.take();
    const closed = place.close();
    const first = await Promise.race([closed.then(() => "closed"), settle().then(() => "settled")]);
    finish("late thing");
    await closed;

    expect([first, (await taken)?.name, removed]).toEqual(["settled", "late thing", []]);
  });

  it("removes it when it is closed, also one that is being made, and makes no more", async () => {
    const { place, finish, removed } = await startMaking();
    const closed = place.close();
    finish("late thing");
    await closed;
    place.prepare();
    await settle();

    expect([removed, place.state()]).toEqual([["late thing"], "empty"]);
  });
});

async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

type Thing = Standby & { readonly name: string };

type Options = Partial<PlaceOptions> & { readonly isQuiet?: boolean; readonly make?: () => Promise<string> };

function createPlace({ isQuiet = true, make, ...options }: Options = {}) {
  const [made, removed]: [string[], string[]] = [[], []];
  let quieten: () => void = () => undefined;
  const place = createStandbyPlace<Thing>({
    untilQuiet: (signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
        quieten = resolve;
        if (isQuiet) resolve();
      }),
    mayMake: () => true,
    ...options,
  });
  async function makeNext(): Promise<string> {
    made.push(`thing ${made.length + 1}`);
    return made.at(-1) ?? "";
  }
  async function makeThing(): Promise<Thing> {
    const name = await (make ?? makeNext)();
    return { name, key: "", end: async () => void removed.push(name) };
  }
  return {
    place: { ...place, prepare: () => place.prepare(makeThing) },
    made,
    removed,
    quieten: () => quieten(),
  };
}

/** Creates a place where one is being made until the test finishes it. */
async function startMaking() {
  let finish: (thing: string) => void = () => undefined;
  const setup = createPlace({ make: () => new Promise((resolve) => (finish = resolve)) });
  setup.place.prepare();
  await settle();
  return { ...setup, finish: (thing: string) => finish(thing) };
}

/** Creates a process that stands by. */
function createHeld(name: string) {
  let isEnded = false;
  let exit: () => void = () => undefined;
  const exited = new Promise((resolve) => (exit = () => resolve({})));
  const process = { exit: exited } as AgentProcess;
  return { name, key: "", process, end: async () => void (isEnded = true), exit, ended: () => isEnded };
}
