import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { rmSync } from "node:fs";
import type { Socket } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createForwarderPlace, type ForwarderPlace } from "./forwarder-place.ts";

const MB = 1_000_000;
const CHUNK = Buffer.alloc(MB);
// The limit in the forwarder's source.
const CONNECTIONS = 256;
const PIPES = 8;

describe.skipIf(process.platform !== "linux")("the forwarder under load", () => {
  it("takes less of the processor than its two ends", async () => {
    await using place = await createForwarderPlace();
    await place.serve((peer) => void upload(peer, 200));
    const before = process.cpuUsage();

    for (let round = 0; round < 3; round++) await download(place.connect());

    const { user, system } = process.cpuUsage(before);
    const endsMs = (user + system) / 1000;
    expect(place.busyMs() / endsMs).toBeLessThan(1);
  });

  it("accepts 10,000 connections, and has neither more memory nor more open files afterwards", async () => {
    await using place = await createForwarderPlace();
    await place.serve((peer) => void peer.pipe(peer));
    await ask(place, 500);
    const [before, filesBefore] = [place.memory("VmRSS"), place.openFiles()];

    for (let asked = 0; asked < 10_000; asked += 500) await ask(place, 500);

    expect(place.memory("VmRSS") - before).toBeLessThan(100);
    await until(() => place.openFiles() === filesBefore);
  });

  it("frees the memory of busy connections", async () => {
    await using place = await createForwarderPlace();
    await place.serve((peer) => void peer.pipe(peer));
    const before = place.memory("VmRSS");

    await Promise.all(Array.from({ length: 100 }, () => talk(place, CHUNK)));

    expect(place.memory("VmHWM") - before).toBeGreaterThan(2000);
    expect(place.memory("VmRSS") - before).toBeLessThan(500);
  });

  it("carries no data over to the next connection, however the previous one ended", async () => {
    await using place = await createForwarderPlace();
    const first = await place.serve((peer) => void peer.end(Buffer.alloc(20 * MB)));
    const files = place.openFiles();
    for (let round = 0; round < 3; round++) {
      const clients = Array.from({ length: 20 }, () => place.connect().resume());
      await Promise.all(clients.map((client) => until(() => client.bytesRead > MB)));
      clients.forEach((client) => client.pause());
      await sleep(200);
      expect(place.openFiles()).toBeLessThanOrEqual(files + 2 * clients.length + 2 * PIPES);
      clients.forEach((client) => client.resetAndDestroy());
      await until(() => place.openFiles() <= files + 2 * PIPES);
    }
    first.close();
    rmSync(place.socket, { force: true });
    await place.serve((peer) => void peer.pipe(peer));

    const sent = Array.from({ length: 2 * PIPES }, () => randomBytes(3 * MB));
    const received = sent.map((content) => buffer(place.connect().end(content)));

    expect((await Promise.all(received)).every((content, at) => sent[at]?.equals(content))).toBe(true);
  });

  it("queues excess connections, and serves them when others end", async () => {
    await using place = await createForwarderPlace();
    const peers: Socket[] = [];
    await place.serve((peer) => void peers.push(peer.resume()));
    const clients = Array.from({ length: 2 * CONNECTIONS }, () => place.connect());
    const answers = Promise.all(clients.map((client) => text(client.end())));
    await until(() => peers.length >= CONNECTIONS);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(peers.length).toBe(CONNECTIONS);

    for (const peer of peers) peer.end("done");
    await until(() => peers.length === 2 * CONNECTIONS);
    for (const peer of peers) if (peer.writable) peer.end("done");

    expect(new Set(await answers)).toEqual(new Set(["done"]));
  });
});

async function upload(peer: Socket, megabytes: number): Promise<void> {
  for (let sent = 0; sent < megabytes; sent++) if (!peer.write(CHUNK)) await once(peer, "drain");
  peer.end();
}

async function download(client: Socket): Promise<void> {
  let bytes = 0;
  client.on("data", (data: Buffer) => void (bytes += data.length));
  await once(client, "end");
  client.end();
  expect(bytes).toBe(200 * MB);
}

async function ask(place: ForwarderPlace, times: number): Promise<void> {
  await Promise.all(Array.from({ length: times }, () => talk(place, Buffer.from("hello"))));
}

async function talk(place: ForwarderPlace, content: Buffer): Promise<void> {
  const client = place.connect();
  client.end(content);
  expect((await text(client)).length).toBe(content.length);
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 10));
}
