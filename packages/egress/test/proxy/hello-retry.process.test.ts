import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import { createServer, connect, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createCertificate } from "../helpers/certificate.ts";
import {
  createOrigin,
  createProxyPlace,
  openTunnel,
  toPolicy,
  watch,
  type Origin,
  type ProxyPlace,
} from "../helpers/proxy-place.ts";

const certificate = createCertificate();
let server: Origin;
let origin: Origin;
let place: ProxyPlace;

// A server that requests a second hello, since no client guesses its curve.
beforeEach(async () => {
  const options = { ...certificate, minVersion: "TLSv1.3", ecdhCurve: "P-384" } as const;
  server = await watch(
    createTlsServer(options, (socket) => socket.end("hello")).on("tlsClientError", () => {}),
    "connection",
  );
  // A relay in front of it records all bytes, since the TLS server does not expose them.
  origin = await createOrigin((socket) => {
    const onward = connect(server.port, "127.0.0.1").on("error", () => {});
    socket.pipe(onward).pipe(socket);
  });
  place = await createProxyPlace(toPolicy("allowlist", `${host()}=127.0.0.1`));
});

afterEach(async () => {
  await place.close();
  await Promise.all([origin.close(), server.close()]);
});

const host = (): string => `allowed.test:${origin.port}`;

async function captureHello(servername: string): Promise<Buffer> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  connectTls({ socket, servername, ecdhCurve: "X25519:P-384" }).on("error", () => {});
  const [accepted] = (await once(server, "connection")) as [Socket];
  const [hello] = (await once(accepted, "data")) as [Buffer];
  socket.destroy();
  server.close();
  return hello;
}

/** Waits until the server has requested a second hello, and all sent bytes had time to arrive. */
async function settle(socket: Socket): Promise<void> {
  socket.resume();
  await new Promise((resolve) => socket.once("close", resolve));
}

describe("a second hello", () => {
  it.each([
    ["sent along with the first", async () => {}],
    ["sent once it is asked for", (socket: Socket) => once(socket.resume(), "data")],
  ])("that names another server does not get through, %s", async (_what, wait) => {
    const { socket } = await openTunnel(place.socketPath, host());
    socket.write(await captureHello("allowed.test"));
    await wait(socket);
    socket.write(Buffer.concat([Buffer.from([20, 3, 3, 0, 1, 1]), await captureHello("evil.test")]));
    await settle(socket);

    expect(origin.received()).toContain("allowed.test");
    expect(origin.received()).not.toContain("evil.test");
    expect((await place.session.take()).denied).toMatchObject([{ why: "TLS names another server midway (SNI)" }]);
  });

  it("behind more early data than the limit does not pass", async () => {
    const { socket } = await openTunnel(place.socketPath, host());
    socket.write(await captureHello("allowed.test"));
    await once(socket.resume(), "data");
    const record = Buffer.concat([Buffer.from([23, 3, 3, 0x40, 0]), Buffer.alloc(16_384)]);
    socket.write(Buffer.concat(Array.from({ length: 5 }, () => record)));
    await settle(socket);

    expect((await place.session.take()).denied).toMatchObject([{ why: "TLS names another server midway (SNI)" }]);
  });

  it("in the same chunk as the first does not pass", async () => {
    const { socket } = await openTunnel(place.socketPath, host());
    socket.write(Buffer.concat([await captureHello("allowed.test"), await captureHello("evil.test")]));
    await settle(socket);

    expect(origin.received()).not.toContain("evil.test");
  });

  it("passes under an open policy, which does not inspect it", async () => {
    await place.session.setPolicy(toPolicy("open", `${host()}=127.0.0.1`));
    const { socket } = await openTunnel(place.socketPath, host());
    socket.write(Buffer.concat([await captureHello("allowed.test"), await captureHello("evil.test")]));
    await settle(socket);

    expect(origin.received()).toContain("evil.test");
  });
});
