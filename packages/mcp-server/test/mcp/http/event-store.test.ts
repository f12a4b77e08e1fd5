import { describe, expect, it } from "vitest";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { createEventStore, type BoundedEventStore } from "../../../src/mcp/http/event-store.ts";

const LIMITS = { events: 1000, eventBytes: 1_000_000 };
// The event with which the SDK opens a resumable stream.
const FIRST = {} as JSONRPCMessage;

const note = (text: string): JSONRPCMessage => ({ jsonrpc: "2.0", method: "notifications/x", params: { text } });
const answer = (id: number, text: string): JSONRPCMessage => ({ jsonrpc: "2.0", id, result: { text } });

async function replay(store: BoundedEventStore, since: string): Promise<readonly JSONRPCMessage[]> {
  const messages: JSONRPCMessage[] = [];
  const send = async (_: string, message: JSONRPCMessage): Promise<void> => void messages.push(message);
  await store.replayEventsAfter(since, { send });
  return messages;
}

describe("createEventStore", () => {
  it("replays the events after a given one on its stream, in order, and none of other streams", async () => {
    const store = createEventStore(LIMITS);
    const first = await store.storeEvent("a", FIRST);
    const second = await store.storeEvent("a", note("1"));
    await store.storeEvent("b", note("other"));
    await store.storeEvent("a", note("2"));
    await store.storeEvent("a", answer(1, "3"));

    expect(await replay(store, first)).toEqual([note("1"), note("2"), answer(1, "3")]);
    expect(await replay(store, second)).toEqual([note("2"), answer(1, "3")]);
  });

  it("replays at once, so that no event can arrive in between", async () => {
    const store = createEventStore(LIMITS);
    const first = await store.storeEvent("a", FIRST);
    for (const text of ["1", "2", "3"]) await store.storeEvent("a", note(text));
    const sent: string[] = [];

    const replaying = store.replayEventsAfter(first, { send: async (id) => void sent.push(id) });

    expect(sent).toHaveLength(3);
    expect(await replaying).toBe("a");
  });

  it("replays the stream that no request began, whose name contains the separator of event numbers", async () => {
    const store = createEventStore(LIMITS);
    const first = await store.storeEvent("_GET_stream", note("1"));
    await store.storeEvent("_GET_stream", note("2"));

    expect(await replay(store, first)).toEqual([note("2")]);
    expect(await store.replayEventsAfter(first, { send: async () => undefined })).toBe("_GET_stream");
  });

  it("assigns only rising numbers, however fast events arrive", async () => {
    const store = createEventStore(LIMITS);

    const ids = await Promise.all(Array.from({ length: 500 }, (_, index) => store.storeEvent("a", note(`${index}`))));

    const numbers = ids.map((id) => Number(id.split("_")[0]));
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(new Set(ids).size).toBe(500);
  });

  it("keeps the newest events up to its limit, and still knows the position of an older one", async () => {
    const store = createEventStore({ ...LIMITS, events: 3 });
    const first = await store.storeEvent("a", note("0"));
    for (const text of ["1", "2", "3", "4"]) await store.storeEvent("a", note(text));

    expect(await replay(store, first)).toEqual([note("2"), note("3"), note("4")]);
  });

  it("keeps bytes up to its limit, and replaces a dropped answer by an error", async () => {
    const store = createEventStore({ ...LIMITS, eventBytes: 3000 });
    const first = await store.storeEvent("a", FIRST);
    await store.storeEvent("a", note("x".repeat(1000)));
    await store.storeEvent("a", answer(1, "y".repeat(1000)));
    const before = store.since(first)?.isWhole;
    await store.storeEvent("b", answer(2, "z".repeat(2000)));

    const left = await replay(store, first);
    expect(before).toBe(true);
    expect(store.since(first)?.isWhole).toBe(false);
    expect(left).toEqual([{ jsonrpc: "2.0", id: 1, error: { code: -32_050, message: expect.any(String) } }]);
    expect(Buffer.byteLength(JSON.stringify(left))).toBeLessThan(1000);
  });

  it("still replaces a dropped answer by an error when later events needed its room", async () => {
    const store = createEventStore({ ...LIMITS, eventBytes: 3000 });
    const first = await store.storeEvent("a", FIRST);
    await store.storeEvent("a", { jsonrpc: "2.0", id: 1, error: { code: -32_602, message: "There is no such tool." } });
    await store.storeEvent("a", answer(2, "x".repeat(2000)));
    for (const id of [3, 4, 5]) await store.storeEvent("b", answer(id, "y".repeat(2000)));

    expect(await replay(store, first)).toMatchObject([
      { id: 1, error: { code: -32_602 } },
      { id: 2, error: { code: -32_050 } },
    ]);
  });

  it("forgets ended streams when there are too many, and never an open one", async () => {
    const store = createEventStore({ ...LIMITS, events: 3 });
    await store.storeEvent("open", FIRST);
    for (const id of ["1", "2", "3", "4"]) {
      await store.storeEvent(id, FIRST);
      const stream = store.stream(id);
      if (stream !== undefined) stream.isEnded = true;
    }

    expect(["open", "1", "2", "3", "4"].filter((id) => store.stream(id) !== undefined)).toEqual(["open", "3", "4"]);
  });

  it.each(["", "x", "_a", "1", "1_", "-1_a", "1e3_a", "2_a", "1_b", "NaN_a"])("finds no event %j", async (id) => {
    const store = createEventStore(LIMITS);
    await store.storeEvent("a", note("1"));

    expect(store.since("1_a")).toMatchObject({ events: [] });
    expect(store.since(id)).toBeUndefined();
  });
});
