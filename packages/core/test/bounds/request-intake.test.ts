import { describe, expect, it } from "vitest";
import { REQUEST_BOUNDS } from "../../src/bounds/json-bounds.ts";
import { createRequestIntake } from "../../src/bounds/request-intake.ts";

const FAST = { perSecond: 1e9, burst: 1e9 };

describe("an intake", () => {
  it("parses messages one by one, each in a turn of its own", async () => {
    const take = createRequestIntake({ bytes: FAST, values: FAST });
    const events: unknown[] = [];
    const parsed = [1, 2, 3].map(async (number) => events.push(await take(Buffer.from(`${number}`))));
    let isOver = false;
    const turn = (): void => {
      events.push("turn");
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);

    await Promise.all(parsed);
    isOver = true;

    const [one, two, three] = [1, 2, 3].map((number) => events.indexOf(number));
    expect(events.slice(one, two)).toContain("turn");
    expect(events.slice(two, three)).toContain("turn");
  });

  it("refuses one message without the next", async () => {
    const take = createRequestIntake({ bytes: FAST, values: FAST });

    const [large, broken, next] = await Promise.allSettled(
      [`[${"1,".repeat(REQUEST_BOUNDS.values)}1]`, "{", "1"].map((json) => take(Buffer.from(json))),
    );

    expect(large).toMatchObject({ reason: new RangeError("more than 10000 values") });
    expect(broken).toMatchObject({ reason: expect.any(SyntaxError) });
    expect(next).toMatchObject({ value: 1 });
  });

  it.each([
    ["bytes", { bytes: { perSecond: 1000, burst: 1000 }, values: FAST }],
    ["values", { bytes: FAST, values: { perSecond: 100, burst: 50 } }],
  ])("waits after a burst of %s", async (_, rates) => {
    const take = createRequestIntake(rates);
    const json = Buffer.from(`[${"1,".repeat(24)}${" ".repeat(450)}1]`);
    const began = performance.now();

    await Promise.all([take(json), take(json)]);
    const burst = performance.now() - began;
    await Promise.all([take(json), take(json)]);

    expect(performance.now() - began).toBeGreaterThan(Math.max(100, 2 * burst));
  });
});
