import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import type { Readable, Writable } from "node:stream";
import { expect, it } from "vitest";
import { createWire } from "../../src/wire/wire.ts";

// 512 MiB, 96 of them without the wire, take long on a busy machine.
const LONG = { timeout: 180_000 };

const MIB = 1024 * 1024;
const PIECE = Buffer.alloc(65_536, "output");

/** Returns two connected sockets. */
async function connectSockets(): Promise<readonly [Socket, Socket]> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, "connection");
  const one = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [other] = (await accepted) as [Socket];
  server.close();
  return [one, other];
}

/** Sends so many MiB, and returns the processor's time that they took and the most memory meanwhile. */
async function flow(output: Writable, input: Readable, mebibytes: number) {
  const before = process.cpuUsage();
  let most = 0;
  let received = 0;
  let seen = 0;
  input.on("data", (piece: Buffer) => {
    received += piece.length;
    if (received - seen < 4 * MIB) return;
    seen = received;
    most = Math.max(most, process.memoryUsage.rss());
  });
  for (let left = mebibytes * MIB; left > 0; left -= PIECE.length) {
    if (!output.write(PIECE)) await once(output, "drain");
  }
  output.end();
  await once(input, "end");
  expect(received).toBe(mebibytes * MIB);
  const { system, user } = process.cpuUsage(before);
  // Other processes take no part in this time.
  return { microseconds: system + user, most };
}

async function flowThroughWire(mebibytes: number) {
  const [one, other] = await connectSockets();
  const budgie = createWire({ side: "budgie", onStream: () => undefined });
  const arriving = new Promise<Readable>((resolve) => {
    const pod = createWire({ side: "pod", onStream: ({ input }) => resolve(input) });
    pod.attach(other);
  });
  budgie.attach(one);
  const { output } = budgie.open({ purpose: "turn" });
  const flowed = await flow(output, await arriving, mebibytes);
  budgie.close();
  return flowed;
}

it("bytes through the wire take at most sixteen times the work of its socket alone, and no memory", LONG, async () => {
  const ratios: number[] = [];
  await flowThroughWire(32);
  const { most: before } = await flowThroughWire(32);
  for (let round = 0; round < 3; round += 1) {
    const [one, other] = await connectSockets();
    const plain = await flow(one, other, 32);
    one.destroy();
    other.destroy();
    ratios.push((await flowThroughWire(32)).microseconds / plain.microseconds);
  }
  const { most: after } = await flowThroughWire(256);

  expect(Math.min(...ratios)).toBeLessThan(16);
  expect(after - before).toBeLessThan(128 * MIB);
});
