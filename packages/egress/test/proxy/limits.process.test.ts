import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createCertificate } from "../helpers/certificate.ts";
import {
  createOrigin,
  createProxyPlace,
  exchange,
  openTunnel,
  readToEnd,
  toPolicy,
  watch,
  type Origin,
  type ProxyPlace,
} from "../helpers/proxy-place.ts";

let origin: Origin;
const places: ProxyPlace[] = [];

beforeEach(async () => {
  origin = await createOrigin((socket) => socket.pipe(socket));
});

afterEach(async () => {
  await Promise.all(places.splice(0).map((place) => place.close()));
  await origin.close();
});

const host = (): string => `allowed.test:${origin.port}`;

async function createPlace(limits: object, mode: "open" | "allowlist" = "open"): Promise<ProxyPlace> {
  const place = await createProxyPlace(toPolicy(mode, `${host()}=127.0.0.1`), { limits });
  places.push(place);
  return place;
}

/** Waits for one of several events; an error does not reject it. */
function happens(socket: Socket, ...events: readonly string[]): Promise<void> {
  return new Promise((resolve) => events.forEach((event) => socket.once(event, () => resolve())));
}

describe("limits", () => {
  it("answers more connections than it allows with 503, until others are closed", async () => {
    const place = await createPlace({ connections: 3 });
    const open = await Promise.all([1, 2, 3].map(() => openTunnel(place.socketPath, host())));

    expect(open.every(({ head }) => head.startsWith("HTTP/1.1 200"))).toBe(true);
    expect((await openTunnel(place.socketPath, host())).head).toMatch(/^HTTP\/1\.1 503 .*more than 3 connections/s);
    expect(await exchange(place.socketPath, `GET http://${host()}/ HTTP/1.1\r\nHost: ${host()}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 503 /,
    );
    expect((await place.session.take()).denied).toEqual([
      { host: "(any)", port: 0, count: 2, why: "too many connections at once" },
    ]);

    open[0]?.socket.destroy();
    await once(open[0]?.socket as Socket, "close");
    let head = "";
    while (!head.startsWith("HTTP/1.1 200")) ({ head } = await openTunnel(place.socketPath, host()));
  });

  it("survives 10,000 silent connections, and answers afterwards", async () => {
    const place = await createPlace({ connections: 100, headerMs: 60_000 });
    const before = process.memoryUsage().rss;
    let connected = 0;
    for (let batch = 0; batch < 50; batch += 1) {
      const sockets = Array.from({ length: 200 }, () => connect(place.socketPath).on("error", () => {}));
      sockets.forEach((socket) => socket.once("connect", () => (connected += 1)));
      await Promise.all(sockets.map((socket) => happens(socket, "connect", "close")));
      sockets.forEach((socket) => socket.destroy());
      // This request is served after all of them.
      expect(await exchange(place.socketPath, "no request\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 /);
    }

    expect(connected).toBe(10_000);
    let head = "";
    while (!head.startsWith("HTTP/1.1 200")) ({ head } = await openTunnel(place.socketPath, host()));
    expect(process.memoryUsage().rss - before).toBeLessThan(300_000_000);
  });

  it("reports a bounded number of hosts, however many are requested", async () => {
    const place = await createPlace({}, "allowlist");
    for (let batch = 0; batch < 10; batch += 1) {
      await Promise.all(
        Array.from({ length: 50 }, (_, at) => openTunnel(place.socketPath, `h${batch}-${at}.evil.test:443`)),
      );
    }

    const { denied } = await place.session.take();
    expect(denied).toHaveLength(201);
    expect(denied.at(-1)).toEqual({ host: "(others)", port: 0, count: 300, why: "various" });
    expect(denied.reduce((sum, { count }) => sum + count, 0)).toBe(500);
  });

  it.each([
    ["says nothing", ""],
    ["never ends its headers", "GET http://allowed.test/ HTTP/1.1\r\nX: "],
  ])("hangs up on a client that %s", async (_what, start) => {
    const place = await createPlace({ headerMs: 300 });
    const socket = connect(place.socketPath);
    socket.write(start);

    expect(await readToEnd(socket)).toMatch(/^(HTTP\/1\.1 408 .*)?$/s);
  });

  it("hangs up on a tunnel that never begins, and on one that begins byte by byte", async () => {
    const place = await createPlace({ headerMs: 300 }, "allowlist");
    const silent = await openTunnel(place.socketPath, host());
    const slow = await openTunnel(place.socketPath, host());
    const drip = setInterval(() => slow.socket.write(Buffer.from([22])), 50);

    await Promise.all([silent, slow].map(({ socket }) => readToEnd(socket.resume())));
    clearInterval(drip);
    expect(origin.connections()).toBe(0);
  });

  it("refuses headers that are too large", async () => {
    const place = await createPlace({ headerBytes: 4_000 });
    const request = `GET http://${host()}/ HTTP/1.1\r\nHost: ${host()}\r\nX: ${"x".repeat(5_000)}\r\n\r\n`;

    expect(await exchange(place.socketPath, request)).toMatch(/^HTTP\/1\.1 431 /);
    expect(origin.connections()).toBe(0);
  });

  it("cuts a tunnel that is idle, and not one that is busy for longer", async () => {
    const place = await createPlace({ idleMs: 400 });
    const [idle, busy] = await Promise.all([
      openTunnel(place.socketPath, host()),
      openTunnel(place.socketPath, host()),
    ]);
    const beat = setInterval(() => busy.socket.write("."), 50);
    busy.socket.resume();

    await readToEnd(idle.socket.resume());
    expect(busy.socket.destroyed).toBe(false);
    clearInterval(beat);
    await readToEnd(busy.socket);
  });

  it("cuts a connection that has carried too many bytes", async () => {
    const place = await createPlace({ bytesPerConnection: 1_000_000 });
    const { socket } = await openTunnel(place.socketPath, host());
    socket.resume();
    const write = (): void => {
      while (!socket.destroyed && socket.write(Buffer.alloc(10_000)));
    };
    socket.on("drain", write);
    write();
    await happens(socket, "close");

    expect(origin.received().length).toBeGreaterThan(0);
    expect(origin.received().length).toBeLessThanOrEqual(1_000_000);
  });

  it("holds little in memory for a client that does not read", async () => {
    const flood = await createOrigin((socket) => {
      const write = (): void => {
        while (!socket.destroyed && socket.write(Buffer.alloc(100_000)));
      };
      socket.on("drain", write);
      write();
    });
    const place = await createProxyPlace(toPolicy("open", `allowed.test:${flood.port}=127.0.0.1`));
    places.push(place);
    const { socket } = await openTunnel(place.socketPath, `allowed.test:${flood.port}`);
    const before = process.memoryUsage().arrayBuffers;
    for (let round = 0; round < 200; round += 1) await new Promise((resolve) => setImmediate(resolve));

    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20_000_000);
    socket.destroy();
    await flood.close();
  });

  it("forwards the end of one direction, and keeps the other open", async () => {
    const late = await createOrigin((socket) => socket.resume().on("end", () => socket.end("after your end")));
    const place = await createProxyPlace(toPolicy("open", `allowed.test:${late.port}=127.0.0.1`));
    places.push(place);
    const { socket } = await openTunnel(place.socketPath, `allowed.test:${late.port}`);
    socket.end("bye");

    expect(await readToEnd(socket.resume())).toBe("after your end");
    expect(late.received()).toBe("bye");
    await late.close();
  });

  it("carries TLS for no more than double the processor time of its two ends", async () => {
    const size = 50_000_000;
    const server = await watch(
      createTlsServer(createCertificate(), (socket) => socket.end(Buffer.alloc(size))),
      "connection",
    );
    const place = await createProxyPlace(toPolicy("allowlist", `allowed.test:${server.port}=127.0.0.1`));
    places.push(place);
    const measure = async (getSocket: () => Promise<Socket>): Promise<number> => {
      const start = process.cpuUsage();
      const tls = connectTls({ socket: await getSocket(), servername: "allowed.test", rejectUnauthorized: false });
      let received = 0;
      tls.on("data", (chunk: Buffer) => (received += chunk.length));
      await once(tls, "end");
      expect(received).toBe(size);
      const { system, user } = process.cpuUsage(start);
      return user + system;
    };
    const direct = () => measure(async () => connect(server.port, "127.0.0.1"));
    const through = () =>
      measure(async () => (await openTunnel(place.socketPath, `allowed.test:${server.port}`)).socket);
    await direct();
    const directs = [await direct(), await direct(), await direct()];
    const throughs = [await through(), await through(), await through()];

    // One process does the work of client, server and proxy.
    expect(Math.min(...throughs) / Math.min(...directs)).toBeLessThan(3);
    await server.close();
  });
});
