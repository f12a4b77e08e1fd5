import { createServer, request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
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

const ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\nX-Answer: yes\r\n\r\nok";

let origin: Origin;
let place: ProxyPlace;

// An origin that records each byte, and answers every request.
beforeEach(async () => {
  origin = await createOrigin((socket) => {
    let seen = "";
    socket.on("data", (chunk: Buffer) => {
      seen += chunk.toString("latin1");
      if (seen.includes("\r\n\r\n")) socket.write(ANSWER);
    });
    socket.on("end", () => socket.end());
  });
  place = await createProxyPlace(
    toPolicy("allowlist", `allowed.test:${origin.port}=127.0.0.1`, "allowed.test=127.0.0.1"),
  );
});

afterEach(async () => {
  await place.close();
  await origin.close();
});

const host = (): string => `allowed.test:${origin.port}`;

/** Counts the requests that the origin parsed. */
const requests = (): number => origin.received().match(/ HTTP\/1\.1\r\n/g)?.length ?? 0;

describe("plain HTTP", () => {
  it("reaches an allowed host and port, and is rebuilt", async () => {
    const answer = await exchange(
      place.socketPath,
      `GET http://ALLOWED.test.:${origin.port}/path?query HTTP/1.1\r\nhOST: ${host()}\r\nAccept: a\r\naccept: b\r\n` +
        "Connection: keep-alive, X-Private\r\nX-Private: 1\r\nKeep-Alive: 5\r\nProxy-Authorization: Basic eDp5\r\n" +
        "Proxy-Connection: keep-alive\r\nTE: trailers\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n",
    );

    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n.*X-Answer: yes\r\n.*\r\n\r\nok$/s);
    expect(answer).toMatch(/^Connection: close\r$/m);
    expect(answer).not.toMatch(/keep-alive/i);
    expect(origin.received()).toBe(
      `GET /path?query HTTP/1.1\r\nHost: ${host()}\r\nAccept: a\r\nAccept: b\r\nConnection: close\r\n\r\n`,
    );
  });

  it.each([
    ["Content-Length: 4", "body", /\r\nContent-Length: 4\r\n.*\r\n\r\nbody$/s],
    [
      "Transfer-Encoding: chunked",
      "4\r\nbody\r\n0\r\n\r\n",
      /\r\nTransfer-Encoding: chunked\r\n.*\r\n\r\n4\r\nbody\r\n0\r\n\r\n$/s,
    ],
  ])("carries a body with %s", async (header, body, sent) => {
    for (const method of ["POST", "GET", "DELETE"]) {
      await exchange(
        place.socketPath,
        `${method} http://${host()}/ HTTP/1.1\r\nHost: ${host()}\r\n${header}\r\n\r\n${body}`,
      );

      expect(origin.received()).toMatch(sent);
    }
    expect(requests()).toBe(3);
  });

  it.each([
    ["another host", "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", /403 .*not on the allow-list/s],
    [
      "another port",
      "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
      /403 .*port not on the allow-list/s,
    ],
    ["an address", "GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", /403 .*it is an address/s],
    ["a number", "GET http://2130706433/ HTTP/1.1\r\nHost: 2130706433\r\n\r\n", /403 .*it is an address/s],
    [
      "the port of HTTPS",
      "GET http://allowed.test:443/ HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n",
      /403 .*plain HTTP to/s,
    ],
    ["no host", "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n", /403 .*not a proxy request/s],
    ["another scheme", "GET ftp://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n", /403 .*not a proxy request/s],
  ])("does not reach %s", async (_what, request, answer) => {
    expect(await exchange(place.socketPath, request)).toMatch(answer);
    expect(origin.connections()).toBe(0);
  });

  it.each([
    ["another name", "Host: evil.test\r\n"],
    ["no port", "Host: allowed.test\r\n"],
    ["two names", "Host: allowed.test\r\nHost: evil.test\r\n"],
    ["none", ""],
    ["its own name twice", "Host: ORIGIN\r\nHost: ORIGIN\r\n"],
    ["a list", "Host: allowed.test, evil.test\r\n"],
  ])("is refused where Host is %s", async (_what, header) => {
    const own = header.replaceAll("ORIGIN", host());
    const answer = await exchange(place.socketPath, `GET http://${host()}/ HTTP/1.1\r\n${own}\r\n`);

    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(origin.connections()).toBe(0);
  });

  it("is inspected inside a tunnel too", async () => {
    const through = async (name: string): Promise<string> => {
      const { socket } = await openTunnel(place.socketPath, host());
      socket.write(`GET /inside HTTP/1.1\r\nHost: ${name}\r\n\r\n`);
      return readToEnd(socket.resume());
    };

    expect(await through(host())).toMatch(/^HTTP\/1\.1 200 OK.*ok$/s);
    expect(origin.received()).toBe(`GET /inside HTTP/1.1\r\nHost: ${host()}\r\nConnection: close\r\n\r\n`);
    expect(await through("evil.test")).toMatch(/^HTTP\/1\.1 400 /);
    expect(origin.connections()).toBe(1);
  });

  it("opens no tunnel inside a tunnel", async () => {
    const { socket } = await openTunnel(place.socketPath, host());
    socket.write(`CONNECT ${host()} HTTP/1.1\r\nHost: ${host()}\r\n\r\n`);

    expect(await readToEnd(socket.resume())).toBe("");
    expect(origin.connections()).toBe(0);
  });

  it("passes large answers completely, and ends requests whose client disconnects", async () => {
    const size = 20_000_000;
    let aborted: Promise<unknown> | undefined;
    const server = createServer((request, response) => {
      aborted = new Promise((resolve) => request.socket.once("close", resolve));
      response.write(Buffer.alloc(size));
      if (request.url === "/whole") response.end();
    });
    const big = await watch(server, "connection");
    await place.session.setPolicy(toPolicy("allowlist", `allowed.test:${big.port}=127.0.0.1`));
    const ask = (path: string) =>
      httpRequest({
        socketPath: place.socketPath,
        path: `http://allowed.test:${big.port}${path}`,
        headers: { host: `allowed.test:${big.port}` },
      });

    const whole = ask("/whole");
    const length = new Promise<number>((resolve) => {
      whole.on("response", (response) => void text(response).then((body) => resolve(body.length)));
    });
    whole.end();
    expect(await length).toBe(size);

    const half = ask("/half");
    half.on("error", () => {}).on("response", () => half.destroy());
    half.end();
    await new Promise((resolve) => half.once("close", resolve));
    await aborted;
    await big.close();
  });

  it("is reported by host and port only", async () => {
    await exchange(
      place.socketPath,
      `GET http://${host()}/secret HTTP/1.1\r\nHost: ${host()}\r\nCookie: secret\r\n\r\n`,
    );
    await exchange(place.socketPath, "GET http://evil.test/secret HTTP/1.1\r\nHost: evil.test\r\n\r\n");

    const report = await place.session.take();
    expect(report).toEqual({
      allowed: [{ host: "allowed.test", port: origin.port, count: 1 }],
      denied: [{ host: "evil.test", port: 80, count: 1, why: "not on the allow-list" }],
    });
  });
});
