import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createAhead, type AheadOptions } from "../../src/ahead/create-ahead.ts";
import type { PlaceAhead } from "../../src/ahead/place-ahead.ts";

const MINUTE_MS = 60_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("createAhead", () => {
  it("keeps one session, and the next turns of the eight sessions with the latest turns", async () => {
    const place = createPlace({ turns: 99 });
    place.ahead.prepare();
    const places: PlaceAhead<Turn>[] = [];
    for (let made = 0; made < 10; made++) {
      places.push(...place.prepareTurns(1));
      await vi.advanceTimersByTimeAsync(0);
    }
    const empty = (): unknown => places.flatMap((turn, index) => (turn.state() === "ready" ? [] : [index]));
    expect(empty()).toEqual([0, 1]);
    expect([place.ahead.count(), place.discarded()]).toEqual([{ sessions: 1, turns: 8 }, 2]);

    await places[2]?.take();
    places[2]?.prepare(place.makeTurn);
    await vi.advanceTimersByTimeAsync(0);
    places[0]?.prepare(place.makeTurn);
    await vi.advanceTimersByTimeAsync(0);
    expect(empty()).toEqual([1, 3]);
  });

  it("makes none while as many as are allowed are being made", async () => {
    const { ahead } = createPlace({ turns: 1 });
    const [slow, late] = [ahead.openTurn(), ahead.openTurn()];
    slow.prepare(() => new Promise(() => undefined));
    late.prepare(async () => ({ discard: async () => undefined }));
    await vi.advanceTimersByTimeAsync(0);

    expect([slow.state(), late.state(), ahead.count().turns]).toEqual(["making", "empty", 0]);
  });

  it("keeps a turn for 2 minutes, and a session for 5", async () => {
    const place = createPlace({ turns: 4 });
    place.ahead.prepare();
    place.prepareTurns(1);
    await vi.advanceTimersByTimeAsync(2 * MINUTE_MS - 1);
    expect([place.discarded(), place.ahead.count()]).toEqual([0, { sessions: 1, turns: 1 }]);

    await vi.advanceTimersByTimeAsync(1);
    expect([place.discarded(), place.ahead.count()]).toEqual([1, { sessions: 1, turns: 0 }]);

    await vi.advanceTimersByTimeAsync(3 * MINUTE_MS);
    expect(place.ahead.count()).toEqual({ sessions: 0, turns: 0 });
  });

  it("makes nothing while turns start or memory is short", async () => {
    const busy = createPlace({ turns: 4, untilQuiet: () => new Promise(() => undefined) });
    const short = createPlace({ turns: 4, isMemoryShort: () => true });
    for (const { ahead, prepareTurns } of [busy, short]) {
      ahead.prepare();
      prepareTurns(1);
      await vi.advanceTimersByTimeAsync(0);
      expect(ahead.count()).toEqual({ sessions: 0, turns: 0 });
    }
  });

  it("discards a session's turn when its place is closed", async () => {
    const place = createPlace({ turns: 4 });
    const [turn] = place.prepareTurns(1);
    await vi.advanceTimersByTimeAsync(0);
    await turn?.close();

    expect([place.discarded(), place.ahead.count().turns]).toEqual([1, 0]);
  });

  it("keeps no turn if none is allowed", async () => {
    const place = createPlace({ turns: 0 });
    const [turn] = place.prepareTurns(1);
    await vi.advanceTimersByTimeAsync(0);

    expect(turn?.state()).toBe("empty");
  });
});

type Session = { readonly warmUp: () => Promise<void>; readonly remove: () => Promise<void> };
type Turn = { readonly discard: () => Promise<void> };

function createPlace(options: Partial<AheadOptions<Session>> & Pick<AheadOptions<Session>, "turns">) {
  let discarded = 0;
  const makeTurn = async (): Promise<Turn> => ({ discard: async () => void discarded++ });
  const ahead = createAhead<Session, Turn>({
    untilQuiet: async () => undefined,
    openSession: async () => ({ warmUp: async () => undefined, remove: async () => undefined }),
    isMemoryShort: () => false,
    ...options,
  });
  return {
    ahead,
    makeTurn,
    discarded: () => discarded,
    prepareTurns: (count: number) =>
      Array.from({ length: count }, () => {
        const place = ahead.openTurn();
        place.prepare(makeTurn);
        return place;
      }),
  };
}
