import { readdirSync } from "node:fs";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { toPolicy, type ProxyPlace } from "../helpers/proxy-place.ts";
import {
  closed,
  CONTENT,
  createTunnelPlaces,
  echo,
  MB,
  PART,
  receive,
  receiveSome,
  send,
  sha256,
} from "../helpers/tunnel-place.ts";

const createPlace = createTunnelPlaces();

describe("a large tunnel", () => {
  it("carries every byte that the server sends", async () => {
    const { ask } = await createPlace(send);

    expect(sha256(await receive(await ask()))).toBe(sha256(CONTENT));
  });

  it("carries every byte that the client sends, and the answer after its end", async () => {
    const answer = (socket: Socket): void => void receive(socket).then((content) => socket.end(sha256(content)));
    const { open } = await createPlace(answer);
    const client = await open();
    client.end(CONTENT);

    expect(String(await receive(client))).toBe(sha256(CONTENT));
  });

  it("carries both ways at once, for a client that pauses reading", async () => {
    const { open } = await createPlace(echo);
    const client = await open();
    const pauses = setInterval(() => (client.isPaused() ? client.resume() : client.pause()), 20);
    client.end(CONTENT);
    const received = await receive(client);
    clearInterval(pauses);

    expect(sha256(received)).toBe(sha256(CONTENT));
  });

  it("answers each of many questions", async () => {
    const { open } = await createPlace(echo);
    const client = await open();
    for (let at = 0; at < 10 * MB; at += MB / 32) {
      const question = CONTENT.subarray(at, at + MB / 32);
      client.write(question);
      const answer = await receiveSome(client, question.length);
      expect(answer.equals(question)).toBe(true);
    }
  });

  it("carries the client's bytes after the server's end", async () => {
    let heard: Promise<Buffer> = Promise.resolve(CONTENT);
    const { open } = await createPlace((socket) => {
      heard = receive(socket);
      socket.once("data", () => socket.end(PART));
    });
    const client = await open();
    client.allowHalfOpen = true;
    client.write(PART);
    expect(sha256(await receive(client))).toBe(sha256(PART));
    client.end(PART);

    expect(sha256(await heard)).toBe(sha256(Buffer.concat([PART, PART])));
  });

  it("is cut when it has carried too many bytes", async () => {
    const { ask } = await createPlace(send, { limits: { bytesPerConnection: 20 * MB } });
    const received = await receive(await ask());

    expect(received.length).toBeGreaterThan(10 * MB);
    expect(received.length).toBeLessThanOrEqual(20 * MB);
  });

  it("carries as many bytes as the limit allows", async () => {
    const { ask } = await createPlace(send, { limits: { bytesPerConnection: CONTENT.length + 1 } });

    expect((await receive(await ask())).length).toBe(CONTENT.length);
  });

  it("is cut when it is idle, and not while it is busy for longer", async () => {
    const { open } = await createPlace(echo, { limits: { idleMs: 1_500 } });
    const [busy, idle] = [await open(), await open()];
    busy.write(PART);
    await receiveSome(busy, PART.length);
    const beat = setInterval(() => busy.resume().write("."), 50);
    const idleClosed = closed(idle);
    idle.write(PART);
    await receiveSome(idle, PART.length);

    await idleClosed;
    expect(busy.destroyed).toBe(false);
    clearInterval(beat);
    await closed(busy);
  });

  it.each([
    ["its session is closed", ({ session }: ProxyPlace) => session.close()],
    ["the policy no longer allows it", ({ session }: ProxyPlace) => session.setPolicy(toPolicy("none"))],
    ["the proxy is closed", ({ proxy }: ProxyPlace) => proxy.close()],
  ])("is cut when %s", async (_what, shut) => {
    let serverEnded: Promise<unknown> = Promise.resolve();
    const { open, place } = await createPlace((socket) => {
      serverEnded = receive(socket);
      // The echo does not end by itself.
      socket.on("data", (chunk: Buffer) => socket.write(chunk));
    });
    const client = await open();
    client.write(PART);
    await receiveSome(client, PART.length);
    await shut(place);
    await Promise.all([closed(client), serverEnded]);
  });

  it("ends for the server when the client disconnects", async () => {
    let serverClosed: Promise<void> = Promise.resolve();
    const { ask } = await createPlace((socket) => {
      serverClosed = closed(socket);
      send(socket);
    });
    const client = await ask();
    await receiveSome(client, 8 * MB);
    client.destroy();

    await serverClosed;
  });

  it("lets the server wait for a client that does not read", async () => {
    let server: Socket | undefined;
    const { ask } = await createPlace((socket) => send((server = socket)));
    const client = await ask();
    await receiveSome(client, 8 * MB);
    client.pause();
    await new Promise((resolve) => setTimeout(resolve, 500));

    expect(server?.writableLength).toBeGreaterThan(10 * MB);
    expect(process.memoryUsage().arrayBuffers).toBeLessThan(300 * MB);
  });

  it.runIf(process.platform === "linux")("leaves no file open", async () => {
    const { ask } = await createPlace(send);
    const fetchOne = async (): Promise<void> => {
      const client = await ask();
      await receiveSome(client, CONTENT.length);
      client.destroy();
      await closed(client);
    };
    await fetchOne();
    const before = readdirSync("/proc/self/fd").length;
    for (let asked = 0; asked < 5; asked += 1) await fetchOne();

    await expect.poll(() => readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(before);
  });
});
