import { once } from "node:events";
import { buffer } from "node:stream/consumers";
import { expect, it } from "vitest";
import { MOST_STREAMS, createWire, type WireOptions } from "../../src/wire/wire.ts";
import { ROOM_BYTES } from "../../src/wire/outbox.ts";
import { WINDOW_BYTES, type WireStream } from "../../src/wire/wire-stream.ts";
import { connectPair } from "../helpers/connect-pair.ts";
import { createFakeClock } from "../helpers/fake-clock.ts";

/** Creates both ends of a wire, connected. The streams that budgie opens arrive in `opened`. */
function connectWires(options: Partial<WireOptions> = {}) {
  const clock = createFakeClock();
  const opened: WireStream[] = [];
  const budgie = createWire({ side: "budgie", onStream: () => undefined, clock, ...options });
  const pod = createWire({ side: "pod", onStream: (stream) => opened.push(stream), clock });
  const connect = () => {
    const pair = connectPair();
    budgie.attach(pair.budgie);
    pod.attach(pair.pod);
    return pair;
  };
  return { budgie, pod, clock, opened, connect, pair: connect() };
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

it("a stream's output may end while its input goes on", async () => {
  const { budgie, opened } = connectWires();
  const stream = budgie.open({ purpose: "turn" });
  stream.output.write("prompt");
  stream.end({ all: 1 });
  await expect.poll(() => opened.length).toBe(1);

  const [other] = opened;
  if (other === undefined) return;
  expect(String(await buffer(other.input))).toBe("prompt");
  expect(await other.last).toEqual({ all: 1 });
  other.output.write("answer");
  other.end({ exitCode: 3 });

  expect(String(await buffer(stream.input))).toBe("answer");
  expect(await stream.last).toEqual({ exitCode: 3 });
});

it("a sender is at most a window ahead of a reader that does not read, and another stream goes on beside it", async () => {
  const { budgie, opened } = connectWires();
  const slow = budgie.open({ purpose: "turn" });
  let taken = 0;
  const piece = Buffer.alloc(50_000);
  const feed = (): void =>
    void (taken < 5 * WINDOW_BYTES && slow.output.write(piece, () => ((taken += piece.length), feed())));
  feed();
  await turns(200);

  expect(taken).toBeGreaterThan(WINDOW_BYTES * 0.9);
  expect(taken).toBeLessThanOrEqual(WINDOW_BYTES);
  const quick = budgie.open({ purpose: "control" });
  quick.end({ is: "quick" });
  await expect.poll(() => opened.length).toBe(2);
  expect(await opened[1]?.last).toEqual({ is: "quick" });

  opened[0]?.input.resume();
  await expect.poll(() => taken).toBeGreaterThanOrEqual(5 * WINDOW_BYTES);
});

it("a window holds few bytes if they come one by one", async () => {
  const { budgie, opened } = connectWires();
  const stream = budgie.open({ purpose: "turn" });
  let taken = 0;
  const feed = (): void => void stream.output.write("x", () => ((taken += 1), feed()));
  feed();
  await turns(5_000);

  expect(opened).toHaveLength(1);
  expect(taken).toBeGreaterThan(4_000);
  expect(taken).toBeLessThan(WINDOW_BYTES / 256);
});

it("a stream that one end destroys is reset at the other, and its place is free again", async () => {
  const { budgie, opened } = connectWires();
  for (let number = 0; number < 2 * MOST_STREAMS; number += 1) {
    const stream = budgie.open({ purpose: "turn" });
    await expect.poll(() => opened.length).toBe(number + 1);
    const failed = opened[number]?.last.then(String, (error: Error) => error.message);
    stream.input.destroy();
    expect(await failed).toContain("was reset");
    await turns(4);
  }
});

it("an end opens at most so many streams at once", () => {
  const { budgie } = connectWires();
  for (let number = 0; number < MOST_STREAMS; number += 1) budgie.open({ purpose: "turn" });

  expect(() => budgie.open({ purpose: "turn" })).toThrow("has 64 streams open");
});

it("what is sent without a connection is bounded, and arrives once there is one", async () => {
  const { budgie, connect, opened, pair } = connectWires();
  const stream = budgie.open({ purpose: "turn" });
  const others = [budgie.open({ purpose: "turn" }), budgie.open({ purpose: "turn" }), budgie.open({ purpose: "turn" })];
  await expect.poll(() => opened.length).toBe(4);
  pair.pod.destroy();
  await once(pair.budgie, "close");
  let taken = 0;
  const piece = Buffer.alloc(50_000, "x");
  for (const { output } of [stream, ...others]) {
    const feed = (left: number): void =>
      void (left > 0 && output.write(piece, () => ((taken += piece.length), feed(left - 1))));
    feed(20);
  }
  await turns(50);

  expect(taken).toBeLessThan(ROOM_BYTES + 2 * piece.length);
  for (const { input } of opened) input.resume();
  connect();
  await expect.poll(() => taken).toBe(4 * 20 * piece.length);
});

it("a connection that is replaced before it breaks loses and repeats nothing", async () => {
  const { budgie, connect, opened } = connectWires();
  const { output } = budgie.open({ purpose: "turn" });
  const sent = Buffer.from(Array.from({ length: 400_000 }, (_, index) => index % 251));
  await expect.poll(() => opened.length).toBe(1);
  const pieces: Buffer[] = [];
  opened[0]?.input.on("data", (piece: Buffer) => {
    pieces.push(piece);
    // What is on its way is dropped.
    if (pieces.length < 12) connect();
  });
  for (let at = 0; at < sent.length; at += 10_000) output.write(sent.subarray(at, at + 10_000));
  output.end();

  await expect.poll(() => opened[0]?.input.readableEnded, { timeout: 20_000 }).toBe(true);
  expect(Buffer.concat(pieces).equals(sent)).toBe(true);
});

it("an end that hears nothing for 120 seconds ends, and one that hears heartbeats does not", async () => {
  const { budgie, clock, pair, pod } = connectWires();
  await turns(5);
  for (let tick = 0; tick < 30; tick += 1) {
    clock.advance(10_000);
    await turns(5);
  }
  const stream = budgie.open({ purpose: "turn" });
  pair.pod.destroy();
  clock.advance(110_000);
  expect(stream.input.destroyed).toBe(false);
  clock.advance(10_000);

  for (const { ended } of [budgie, pod]) {
    expect(await ended).toMatchObject({ code: "RUNNER_UNAVAILABLE", message: expect.stringContaining("120 seconds") });
  }
  expect(() => budgie.open({ purpose: "turn" })).toThrow("120 seconds");
  await expect(stream.last).rejects.toThrow("120 seconds");
});

it("an end that closes tells the other at once", async () => {
  const { budgie, pod } = connectWires();
  await turns(5);
  budgie.close();

  expect(await budgie.ended).toBeUndefined();
  expect(await pod.ended).toMatchObject({ message: expect.stringContaining("closed the connection") });
});

it("a program that answers in the other end's place ends the wire", async () => {
  const { budgie } = connectWires();
  await turns(5);
  const stranger = createWire({ side: "pod", onStream: () => undefined, clock: createFakeClock() });
  const pair = connectPair();
  stranger.attach(pair.pod);
  budgie.attach(pair.budgie);

  expect(await budgie.ended).toMatchObject({
    code: "SESSION_UNUSABLE",
    message: expect.stringContaining("another program"),
  });
});

it("a header of more than 16 KiB is refused where it is made", () => {
  const { budgie } = connectWires();

  expect(() => budgie.open({ purpose: "turn", argv: "x".repeat(16_384) })).toThrow("more than 16384 bytes");
});
