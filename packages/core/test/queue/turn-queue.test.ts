import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createQueuePlace, settle, type PlacedCall } from "./queue-place.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

describe("a turn queue", () => {
  it("runs up to its limit of turns at once, and never more", async () => {
    const { call, running, waiting } = createQueuePlace({ concurrent: 3 });
    const calls = Array.from({ length: 20 }, (_, number) => call(`t${number}`));
    const most: number[] = [];

    for (const turn of calls) {
      await settle();
      most.push(running().length);
      turn.end();
    }
    await Promise.all(calls.map(({ result }) => result));

    expect(most).toEqual([...Array<number>(18).fill(3), 2, 1]);
    expect([running(), waiting()]).toEqual([[], []]);
  });

  it("runs the turns of one session one at a time, in the order of their calls", async () => {
    const { call, running } = createQueuePlace({ concurrent: 10 });
    const turns = ["first", "second", "third"].map((name) => call(name, { session: "s" }));

    const seen: (readonly string[])[] = [];
    for (const turn of turns) {
      await settle();
      seen.push(running());
      turn.end();
    }

    expect(seen).toEqual([["first"], ["second"], ["third"]]);
  });

  it("runs turns of different sessions at the same time", async () => {
    const { call, running } = createQueuePlace({ concurrent: 10 });
    for (const name of ["a", "b", "c"]) call(name, { session: name });
    call("new");
    await settle();

    expect(running()).toEqual(["a", "b", "c", "new"]);
  });

  it("serves waiting turns in the order of their calls", async () => {
    const { call, started } = createQueuePlace({ concurrent: 1 });
    const calls = ["a", "b", "c", "d"].map((name) => call(name));
    await endInTurn(calls);

    expect(started).toEqual(["a", "b", "c", "d"]);
  });

  it("serves sessions in rotation, so that fifty turns of one do not delay the others", async () => {
    const { call, started, byName } = createQueuePlace({ concurrent: 1 });
    call("running");
    for (let turn = 1; turn <= 50; turn++) call(`s${turn}`, { session: "s" });
    call("a1", { session: "a" });
    call("a2", { session: "a" });
    call("b");
    call("c");

    for (let turn = 0; turn < 55; turn++) {
      await settle();
      byName(started.at(-1))?.end();
    }

    expect(started.slice(0, 9)).toEqual(["running", "s1", "a1", "b", "c", "s2", "a2", "s3", "s4"]);
    expect(started).toHaveLength(55);
  });

  it("serves a session that was just served after all that already wait", async () => {
    const { call, started, byName } = createQueuePlace({ concurrent: 1 });
    call("s1", { session: "s" });
    await settle();
    call("a");
    call("s2", { session: "s" });
    call("b");

    for (let turn = 0; turn < 4; turn++) {
      await settle();
      byName(started.at(-1))?.end();
    }

    expect(started).toEqual(["s1", "a", "s2", "b"]);
  });

  it("runs at most an agent's limit of its turns, and lets others pass them", async () => {
    const { call, running } = createQueuePlace({ concurrent: 3, agents: new Map([["slow", 1]]) });
    const slow = call("slow1", { agent: "slow" });
    call("slow2", { agent: "slow" });
    call("slow3", { agent: "slow" });
    call("other1");
    call("other2");
    call("other3");
    await settle();
    const atFirst = running();
    slow.end();
    await settle();

    // The waiting turn kept its place in front of those that overtook it.
    expect({ atFirst, later: running() }).toEqual({
      atFirst: ["slow1", "other1", "other2"],
      later: ["other1", "other2", "slow2"],
    });
  });

  it("lets a turn pass one that waits for its own session", async () => {
    const { call, running } = createQueuePlace({ concurrent: 2 });
    call("s1", { session: "s" });
    call("s2", { session: "s" });
    call("other");
    await settle();

    expect(running()).toEqual(["s1", "other"]);
  });
});

async function endInTurn(calls: readonly PlacedCall[]): Promise<void> {
  for (const { end, result } of calls) {
    end();
    await result;
  }
}
