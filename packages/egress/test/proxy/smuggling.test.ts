import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  createOrigin,
  createProxyPlace,
  exchange,
  openTunnel,
  readToEnd,
  toPolicy,
  type Origin,
  type ProxyPlace,
} from "../helpers/proxy-place.ts";

let origin: Origin;
let place: ProxyPlace;

beforeEach(async () => {
  origin = await createOrigin((socket) => {
    socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
    socket.on("end", () => socket.end());
  });
  place = await createProxyPlace(toPolicy("allowlist", `allowed.test:${origin.port}=127.0.0.1`));
});

afterEach(async () => {
  await place.close();
  await origin.close();
});

const host = (): string => `allowed.test:${origin.port}`;

describe("request smuggling", () => {
  const evil = "GET /evil HTTP/1.1\r\nHost: evil.test\r\n\r\n";
  const get = (rest: string): string => `GET http://${host()}/ HTTP/1.1\r\nHost: ${host()}\r\n${rest}`;
  const post = (rest: string): string => `POST http://${host()}/ HTTP/1.1\r\nHost: ${host()}\r\n${rest}`;

  it.each([
    ["a second request behind the first", () => get(`\r\n${evil}`)],
    ["a second one for a proxy", () => get(`\r\nGET http://${host()}/2 HTTP/1.1\r\nHost: ${host()}\r\n\r\n`)],
    ["one in a body of no length", () => post(`\r\n${evil}`)],
    ["one behind a length of 0", () => post(`Content-Length: 0\r\n\r\n${evil}`)],
    ["a length and chunks", () => post(`Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${evil}`)],
    ["chunks and a length", () => post(`Transfer-Encoding: chunked\r\nContent-Length: 60\r\n\r\n0\r\n\r\n${evil}`)],
    ["two lengths", () => post(`Content-Length: 0\r\nContent-Length: 60\r\n\r\n${evil}`)],
    ["two lengths in one", () => post(`Content-Length: 0, 60\r\n\r\n${evil}`)],
    ["a length with a sign", () => post(`Content-Length: +0\r\n\r\n${evil}`)],
    ["a length in hex", () => post(`Content-Length: 0x3c\r\n\r\n${evil}`)],
    ["an encoding that is not chunked", () => post(`Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${evil}`)],
    [
      "an encoding twice",
      () => post(`Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n${evil}`),
    ],
    ["an encoding in a list", () => post(`Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n${evil}`)],
    ["an encoding behind a tab", () => post(`Transfer-Encoding:\u000bchunked\r\n\r\n0\r\n\r\n${evil}`)],
    ["a space before the colon", () => post(`Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${evil}`)],
    ["a folded header", () => post(`X: y\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${evil}`)],
    ["a bare line feed", () => post(`X: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${evil}`)],
    ["a bare carriage return", () => post(`X: y\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${evil}`)],
    [
      "a header hidden by Connection",
      () => post(`Connection: Content-Length\r\nContent-Length: ${evil.length}\r\n\r\n${evil}`),
    ],
    [
      "chunks in a GET",
      () => get(`Transfer-Encoding: chunked\r\n\r\n${evil.length.toString(16)}\r\n${evil}\r\n0\r\n\r\n`),
    ],
    ["an odd chunk size", () => post(`Transfer-Encoding: chunked\r\n\r\n0_\r\n\r\n${evil}`)],
    ["a chunk extension with a line feed", () => post(`Transfer-Encoding: chunked\r\n\r\n0;\nx\r\n\r\n${evil}`)],
    ["a request line in the path", () => `GET http://${host()}/ HTTP/1.1\rX HTTP/1.1\r\nHost: ${host()}\r\n\r\n`],
    [
      "HTTP/1.0 with chunks",
      () => `POST http://${host()}/ HTTP/1.0\r\nHost: ${host()}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${evil}`,
    ],
    ["HTTP/0.9", () => `GET http://${host()}/\r\n${evil}`],
  ])("does not work by %s", async (_what, request) => {
    await exchange(place.socketPath, request());

    expect(origin.connections()).toBeLessThanOrEqual(1);
    // Only the body of the single request may contain it.
    const [head = "", ...body] = origin.received().split("\r\n\r\n");
    const isBody = /^(Content-Length: [1-9]|Transfer-Encoding: chunked)/m.test(head);
    expect(isBody ? head : origin.received()).not.toContain("/evil");
    if (!isBody) expect(body.join("")).toBe("");
    expect(head.match(/HTTP\/1/g)?.length ?? 0).toBeLessThanOrEqual(1);
  });

  it("passes in a tunnel that is not inspected", async () => {
    const tunnel = await createProxyPlace(toPolicy("open", `allowed.test:${origin.port}=127.0.0.1`));
    const { socket } = await openTunnel(tunnel.socketPath, host());
    socket.end(`GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n${evil}`);
    await readToEnd(socket.resume());
    await tunnel.close();

    expect(origin.received().match(/ HTTP\/1\.1\r\n/g)).toHaveLength(2);
    expect(origin.received()).toContain("/evil");
  });
});
