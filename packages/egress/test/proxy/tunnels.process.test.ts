import { once } from "node:events";
import type { Server } from "node:net";
import { text } from "node:stream/consumers";
import { connect as connectTls, createServer as createTlsServer, type ConnectionOptions } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCertificate } from "../helpers/certificate.ts";
import { extension, name, sni, toHello } from "../tls/client-hello.ts";
import {
  createOrigin,
  createProxyPlace,
  openTunnel,
  readToEnd,
  toPolicy,
  watch,
  type Origin,
  type ProxyPlace,
} from "../helpers/proxy-place.ts";

const certificate = createCertificate();
let origin: Origin;
let place: ProxyPlace;

beforeAll(async () => {
  const server: Server = createTlsServer(certificate, (socket) => socket.end("hello"));
  origin = await watch(server, "connection");
  place = await createProxyPlace(
    toPolicy(
      "allowlist",
      `allowed.test:${origin.port}=127.0.0.1`,
      `*.wild.test:${origin.port}=127.0.0.1`,
      `closed.test:1=127.0.0.1`,
      "allowed.test=127.0.0.1",
    ),
  );
});

afterAll(async () => {
  await place.close();
  await origin.close();
});

async function fetchThrough(host: string, options: ConnectionOptions = {}): Promise<string> {
  const { head, socket } = await openTunnel(place.socketPath, `${host}:${origin.port}`);
  if (!head.startsWith("HTTP/1.1 200")) return head;
  const tls = connectTls({ socket, servername: host, rejectUnauthorized: false, ...options });
  // A program that sends nothing would count as one that did not accept the certificate.
  tls.write("GET / HTTP/1.0\r\n\r\n");
  return text(tls).catch((error: Error) => error.message);
}

describe("tunnels", () => {
  it.each(["allowed.test", "ALLOWED.Test", "allowed.test.", "a.wild.test", "a.b.wild.test"])(
    "reach %s",
    async (host) => {
      expect(await fetchThrough(host, { servername: "allowed.test" === host ? host : host.replace(/\.$/, "") })).toBe(
        "hello",
      );
    },
  );

  it.each([
    "allowed.test.evil.test",
    "evilallowed.test",
    "wild.test",
    "xwild.test",
    "evil.test",
    "localhost",
    "metadata.google.internal",
  ])("do not reach %s", async (host) => {
    const before = origin.connections();

    expect(await fetchThrough(host)).toMatch(/^HTTP\/1\.1 403 .*not on the allow-list/s);
    expect(origin.connections()).toBe(before);
  });

  it.each([
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "017700000001",
    "0177.0.0.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "::1",
    "127.0.0.1.",
    "169.254.169.254",
  ])("do not reach the address %s", async (host) => {
    const before = origin.connections();

    expect(await fetchThrough(host)).toMatch(/^HTTP\/1\.1 403 .*it is an address/s);
    expect(origin.connections()).toBe(before);
  });

  it.each(["user@allowed.test", "allowed.test%00.evil.test", "al lowed.test", "http://allowed.test", "-", "a..test"])(
    "do not reach %j, which is no host",
    async (host) => {
      const before = origin.connections();

      expect(await fetchThrough(host)).toMatch(/^HTTP\/1\.1 40[03] /);
      expect(origin.connections()).toBe(before);
    },
  );

  it("do not reach another port of an allowed host", async () => {
    const { head } = await openTunnel(place.socketPath, "allowed.test:22");

    expect(head).toMatch(/^HTTP\/1\.1 403 .*allowed\.test:22: port not on the allow-list.* allow "allowed\.test:22"/s);
  });

  it.each(["allowed.test", "allowed.test:", "allowed.test:0", "allowed.test:65536", "allowed.test:443:443", ":443"])(
    "need a host and a port, and %s is none",
    async (authority) => {
      const { head } = await openTunnel(place.socketPath, authority);

      expect(head).toMatch(/^HTTP\/1\.1 40[03] /);
    },
  );

  it("say which host was refused, that it is policy, and what the user can do", async () => {
    const { head } = await openTunnel(place.socketPath, "evil.test:443");

    expect(head).toContain("Connection: close");
    expect(head).toContain("budgie's egress policy refused evil.test:443: not on the allow-list.");
    expect(head).toContain("Tell the user");
    expect(head).toContain('the user can allow "evil.test"\n');
  });

  it("echo no control characters, and no long names", async () => {
    const { head } = await openTunnel(place.socketPath, `\u009b31mevil${"x".repeat(5_000)}:443`);

    expect(head).toMatch(/^HTTP\/1\.1 40[03] /);
    expect(head.length).toBeLessThan(1_000);
    // oxlint-disable-next-line no-control-regex
    expect(head).not.toMatch(/[^\r\n\x20-\x7e]/);
  });

  it.each([
    ["names another server", { servername: "evil.test" }],
    ["names another allowed server", { servername: "a.wild.test" }],
    ["names none", { servername: "" }],
  ])("are not for TLS that %s", async (_what, options) => {
    const before = origin.connections();

    expect(await fetchThrough("allowed.test", options)).toMatch(/alert access denied/);
    expect(origin.connections()).toBe(before);
  });

  it("are not for TLS that hides another name in an encrypted hello", async () => {
    const before = origin.connections();
    const { socket } = await openTunnel(place.socketPath, `allowed.test:${origin.port}`);
    socket.write(toHello(Buffer.concat([sni(name("allowed.test")), extension(0xfe0d, Buffer.alloc(8))])));

    expect(await readToEnd(socket.resume())).toBe("\u0015\u0003\u0003\u0000\u0002\u0002\u0031");
    expect(origin.connections()).toBe(before);
    expect((await place.session.take()).denied.at(-1)).toMatchObject({ why: expect.stringContaining("encrypted") });
  });

  it("are not for protocols other than TLS and HTTP", async () => {
    const before = origin.connections();
    const { socket } = await openTunnel(place.socketPath, `allowed.test:${origin.port}`);
    socket.write(Buffer.from([0, 1, 2, 3]));
    socket.resume();
    await once(socket, "close");

    expect(origin.connections()).toBe(before);
  });

  it("are not for plain HTTP on the port of HTTPS", async () => {
    const { socket } = await openTunnel(place.socketPath, "allowed.test:443");
    socket.write("GET / HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n");

    expect(await text(socket)).toMatch(/^HTTP\/1\.1 403 .*plain HTTP to the port of HTTPS/s);
  });

  it("forward a second hello if the server requests one", async () => {
    const retrying = await watch(
      createTlsServer({ ...certificate, minVersion: "TLSv1.3", ecdhCurve: "P-384" }, (socket) => socket.end("again")),
      "connection",
    );
    const policy = toPolicy("allowlist", `allowed.test:${retrying.port}=127.0.0.1`);
    const other = await createProxyPlace(policy);
    const { socket } = await openTunnel(other.socketPath, `allowed.test:${retrying.port}`);
    const tls = connectTls({
      socket,
      servername: "allowed.test",
      rejectUnauthorized: false,
      ecdhCurve: "X25519:P-384",
    });

    expect(await text(tls)).toBe("again");
    await other.close();
    await retrying.close();
  });

  it("end with a client that disconnects before the server has answered", async () => {
    let gone: Promise<unknown> = Promise.resolve();
    const silent = await createOrigin((socket) => void (gone = once(socket, "end")));
    const other = await createProxyPlace(toPolicy("allowlist", `allowed.test:${silent.port}=127.0.0.1`));
    const { socket } = await openTunnel(other.socketPath, `allowed.test:${silent.port}`);
    socket.write(toHello(sni(name("allowed.test"))));
    while (silent.received() === "") await new Promise((resolve) => setImmediate(resolve));
    socket.destroy();

    await gone;
    await other.close();
    await silent.close();
  });

  it("report an unreachable host, to the client and in the log", async () => {
    await place.session.take();
    const { socket } = await openTunnel(place.socketPath, "closed.test:1");
    const tls = connectTls({ socket, servername: "closed.test" });

    expect(await text(tls).catch((error: Error) => error.message)).toMatch(/alert internal error/);
    expect((await place.session.take()).failed).toMatchObject([{ host: "closed.test", port: 1, why: "ECONNREFUSED" }]);
  });

  it("are reported with their hosts and ports, once", async () => {
    await place.session.take();
    await fetchThrough("allowed.test");
    await fetchThrough("allowed.test");
    await fetchThrough("evil.test");
    await fetchThrough("allowed.test", { servername: "evil.test" });

    expect(await place.session.take()).toEqual({
      allowed: [{ host: "allowed.test", port: origin.port, count: 2 }],
      denied: [
        { host: "evil.test", port: origin.port, count: 1, why: "not on the allow-list" },
        { host: "allowed.test", port: origin.port, count: 1, why: "TLS names another server (SNI)" },
      ],
    });
    expect(await place.session.take()).toEqual({ allowed: [], denied: [] });
  });
});
