import { once } from "node:events";
import { expect, it } from "vitest";
import { createWire } from "../../src/wire/wire.ts";
import { connectPair } from "../helpers/connect-pair.ts";
import { connectWires, passTurns } from "../helpers/connect-wires.ts";
import { createFakeClock } from "../helpers/fake-clock.ts";

it("a connection that is replaced before it breaks loses and repeats nothing", async () => {
  const { budgie, connect, opened } = connectWires();
  const { output } = budgie.open({ purpose: "turn" });
  const sent = Buffer.from(Array.from({ length: 400_000 }, (_, index) => index % 251));
  await expect.poll(() => opened.length).toBe(1);
  const pieces: Buffer[] = [];
  opened[0]?.input.on("data", (piece: Buffer) => {
    pieces.push(piece);
    // Bytes on their way are dropped.
    if (pieces.length < 12) connect();
  });
  for (let at = 0; at < sent.length; at += 10_000) output.write(sent.subarray(at, at + 10_000));
  output.end();

  await expect.poll(() => opened[0]?.input.readableEnded, { timeout: 20_000 }).toBe(true);
  expect(Buffer.concat(pieces).equals(sent)).toBe(true);
});

it("an end that hears nothing for 120 seconds ends, and one that hears heartbeats does not", async () => {
  const { budgie, clock, pair, pod } = connectWires();
  await passTurns(5);
  for (let tick = 0; tick < 30; tick += 1) {
    clock.advance(10_000);
    await passTurns(5);
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

it("an end that was stopped for long goes on, and waits 120 seconds anew", async () => {
  const clock = createFakeClock();
  const { budgie, opened, pair } = connectWires({ clock });
  await passTurns(5);
  clock.stop(600_000);
  budgie.open({ purpose: "turn" });
  await expect.poll(() => opened.length).toBe(1);

  pair.pod.destroy();
  clock.stop(600_000);
  clock.advance(110_000);
  expect(() => budgie.open({ purpose: "turn" })).not.toThrow();
  clock.advance(10_000);
  expect(() => budgie.open({ purpose: "turn" })).toThrow("120 seconds");
});

it("a connection that broke before it was attached is told as broken", async () => {
  let detached = 0;
  const { budgie, connect, opened } = connectWires({ onDetached: () => (detached += 1) });
  const { budgie: broken } = connectPair();
  broken.destroy();
  await once(broken, "close");
  budgie.attach(broken);
  await passTurns(5);

  expect(detached).toBe(1);
  connect();
  budgie.open({ purpose: "turn" });
  await expect.poll(() => opened.length).toBe(1);
});

it("an end that closes tells the other at once", async () => {
  const { budgie, pod } = connectWires();
  await passTurns(5);
  budgie.close();

  expect(await budgie.ended).toBeUndefined();
  expect(await pod.ended).toMatchObject({ message: expect.stringContaining("closed the connection") });
});

it("a program that answers in the other end's place ends the wire", async () => {
  const { budgie } = connectWires();
  await passTurns(5);
  const stranger = createWire({ side: "pod", onStream: () => undefined, clock: createFakeClock() });
  const pair = connectPair();
  stranger.attach(pair.pod);
  budgie.attach(pair.budgie);

  expect(await budgie.ended).toMatchObject({
    code: "SESSION_UNUSABLE",
    message: expect.stringContaining("another program"),
  });
});
