import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createHandOver } from "../../src/proxy/hand-over.ts";
import { createOrigin, createProxyPlace, openTunnel, toPolicy } from "../helpers/proxy-place.ts";
import {
  closed,
  CONTENT,
  createTunnelPlaces,
  echo,
  findHandedOver,
  HANDED,
  MB,
  OWN_FORWARDER,
  PART,
  receive,
  receiveSome,
  send,
  sha256,
} from "../helpers/tunnel-place.ts";

const { atEnd, createPlace } = createTunnelPlaces();

describe.skipIf(OWN_FORWARDER === undefined)("tunnels that are handed over", () => {
  it("stay as they are while they are small", async () => {
    const { open } = await createPlace(echo, HANDED);
    const client = await open();
    client.write(CONTENT.subarray(0, MB));
    await receiveSome(client, MB);

    expect(findHandedOver()).toEqual([]);
  });

  it("end with their process, and no other does", async () => {
    const { open } = await createPlace(echo, HANDED);
    const sockets = [await open(), await open()] as const;
    const pids: number[] = [];
    for (const socket of sockets) {
      socket.write(PART);
      await receiveSome(socket, PART.length);
      pids.push(...findHandedOver().filter((pid) => !pids.includes(pid)));
    }
    expect(pids).toHaveLength(2);

    process.kill(pids[0] as number, "SIGKILL");
    await closed(sockets[0]);
    sockets[1].write(PART);
    await receiveSome(sockets[1], PART.length);
    expect(findHandedOver()).toEqual([pids[1]]);
  });

  it("are four at once, and others get through all the same", async () => {
    const { open } = await createPlace(echo, HANDED);
    const sockets = await Promise.all(Array.from({ length: 6 }, () => open()));
    await Promise.all(
      sockets.map(async (socket) => {
        socket.write(PART);
        await receiveSome(socket, PART.length);
      }),
    );

    expect(findHandedOver()).toHaveLength(4);
  });

  it.each([
    ["is not there", "/nonexistent/forwarder"],
    ["cannot be run", import.meta.filename],
  ])("stay as they are where the program %s", async (_what, forwarder) => {
    const { open } = await createPlace(echo, { forwarder });
    const client = await open();
    client.end(CONTENT);

    expect(sha256(await receive(client))).toBe(sha256(CONTENT));
  });

  it("keep what came last before the server's end, of sockets that Node would not leave half open", async () => {
    const [client, givenClient] = await createPair();
    const [server, givenServer] = await createPair();
    server.end(CONTENT.subarray(0, 10_000));
    await expect.poll(() => givenServer.readableLength).toBe(10_000);
    // So that it has heard of the end, too.
    await sleep(50);

    const handOver = createHandOver(OWN_FORWARDER);
    expect(handOver([givenClient, givenServer], { bytes: MB, idleMs: 5_000 })).toBe(true);
    await sleep(50);
    client.end("and what the client says after it");

    const [received, heard] = await Promise.all([receive(client), receive(server)]);
    expect(received.length).toBe(10_000);
    expect(String(heard)).toBe("and what the client says after it");
  });

  it("may lead through another proxy", async () => {
    const relay = createServer((client) => {
      client
        .on("error", () => {})
        .once("data", (request: Buffer) => {
          const server = connect(Number(/^CONNECT .*:(\d+) /.exec(String(request))?.[1]), "127.0.0.1");
          client.write("HTTP/1.1 200 OK\r\n\r\n");
          client.pipe(server.on("error", () => {})).pipe(client);
        });
    }).listen(0, "127.0.0.1");
    await once(relay, "listening");
    atEnd(async () => relay.close());
    const { port } = relay.address() as { port: number };
    const origin = await createOrigin(send);
    const place = await createProxyPlace(toPolicy("open"), {
      ...HANDED,
      upstream: { url: `http://127.0.0.1:${port}` },
    });
    atEnd(place.close, origin.close);
    const { socket } = await openTunnel(place.socketPath, `far.test:${origin.port}`);
    socket.write("?");
    const received = receive(socket);
    await receiveSome(socket, 8 * MB);

    expect(findHandedOver()).toHaveLength(1);
    expect(sha256(await received)).toBe(sha256(CONTENT));
  });
});

/** Both ends of a connection; the second is one that Node ends when it has read the end of the first. */
async function createPair(): Promise<readonly [Socket, Socket]> {
  const listener = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const near = connect({ port: (listener.address() as { port: number }).port, host: "127.0.0.1" });
  const [far] = (await once(listener, "connection")) as [Socket];
  listener.close();
  for (const socket of [near, far]) socket.on("error", () => {});
  atEnd(async () => far.destroy());
  return [far, near];
}
