import { once } from "node:events";
import { buffer } from "node:stream/consumers";
import { expect, it } from "vitest";
import { MOST_STREAMS } from "../../src/wire/wire.ts";
import { ROOM_BYTES } from "../../src/wire/outbox.ts";
import { WINDOW_BYTES, type WireStream } from "../../src/wire/wire-stream.ts";
import { connectWires, passTurns } from "../helpers/connect-wires.ts";

/** Writes an agent's whole output to the first stream, and its end. */
async function answer(opened: readonly WireStream[]): Promise<void> {
  await expect.poll(() => opened.length).toBe(1);
  opened[0]?.output.write("answer");
  opened[0]?.end({ exitCode: 3 });
  await expect.poll(() => opened[0]?.output.writableFinished).toBe(true);
}

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

it("an empty write sends nothing", async () => {
  const { budgie, opened } = connectWires();
  const stream = budgie.open({ purpose: "file" });
  stream.output.write("a");
  stream.output.write(Buffer.alloc(0));
  stream.output.write("b");
  stream.end();
  await expect.poll(() => opened.length).toBe(1);

  expect(opened[0] && String(await buffer(opened[0].input))).toBe("ab");
});

it("output that ended whole can be read after the Pod reset the stdin that was still open", async () => {
  const { budgie, opened } = connectWires();
  const stream = budgie.open({ purpose: "turn" });
  await answer(opened);
  opened[0]?.input.destroy();
  await expect.poll(() => stream.output.destroyed).toBe(true);

  expect(await stream.last).toEqual({ exitCode: 3 });
  expect(String(await buffer(stream.input))).toBe("answer");
});

it("output that ended whole can be read after the Pod closed the wire", async () => {
  const { budgie, opened, pod } = connectWires();
  const stream = budgie.open({ purpose: "turn" });
  await answer(opened);
  pod.close();
  await budgie.ended;

  expect(stream.output.destroyed).toBe(true);
  expect(await stream.last).toEqual({ exitCode: 3 });
  expect(String(await buffer(stream.input))).toBe("answer");
});

it("a sender is at most a window ahead of a reader that does not read, and another stream goes on beside it", async () => {
  const { budgie, opened } = connectWires();
  const slow = budgie.open({ purpose: "turn" });
  let taken = 0;
  const piece = Buffer.alloc(50_000);
  const feed = (): void =>
    void (taken < 5 * WINDOW_BYTES && slow.output.write(piece, () => ((taken += piece.length), feed())));
  feed();
  await passTurns(200);

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
  await passTurns(5_000);

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
    await passTurns(4);
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
  await passTurns(50);

  expect(taken).toBeLessThan(ROOM_BYTES + 2 * piece.length);
  for (const { input } of opened) input.resume();
  connect();
  await expect.poll(() => taken).toBe(4 * 20 * piece.length);
});

it("a header of more than 16 KiB is refused where it is made", () => {
  const { budgie } = connectWires();

  expect(() => budgie.open({ purpose: "turn", argv: "x".repeat(16_384) })).toThrow("more than 16384 bytes");
});
