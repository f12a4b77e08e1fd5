import { describe, expect, it } from "vitest";
import { createKeyedOrder } from "../../src/queue/keyed-order.ts";

describe("a keyed order", () => {
  it("settles in the order of the calls, even if a later one finished first", async () => {
    const { begin, events } = create();
    const first = begin("a", "first");
    const second = begin("a", "second");

    second.done();
    await settle();
    const beforeFirst = [...events];
    first.done();
    await settle();

    expect({ beforeFirst, events }).toEqual({ beforeFirst: [], events: ["first", "second"] });
  });

  it("settles after one that failed", async () => {
    const { begin, events } = create();
    const first = begin("a", "first");
    begin("a", "second").done();

    first.fail();
    await settle();

    expect(events).toEqual(["first failed", "second"]);
  });

  it.each([
    ["with another key", "b"],
    ["without a key", undefined],
  ])("does not delay one %s", async (_which, key) => {
    const { begin, events } = create();
    begin("a", "first");

    begin(key, "other").done();
    await settle();

    expect(events).toEqual(["other"]);
  });
});

function create() {
  const inOrder = createKeyedOrder();
  const events: string[] = [];
  const begin = (key: string | undefined, name: string) => {
    let done = (): void => {};
    let fail = (): void => {};
    const work = new Promise<void>((resolve, reject) => {
      done = resolve;
      fail = () => reject(new Error(name));
    });
    void inOrder(key, work).then(
      () => events.push(name),
      () => events.push(`${name} failed`),
    );
    return { done, fail };
  };
  return { begin, events };
}

function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
