import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createProxyPlace, exchange, toPolicy, type ProxyPlace } from "../helpers/proxy-place.ts";

let place: ProxyPlace;

beforeEach(async () => {
  place = await createProxyPlace(toPolicy("none"));
  place.session.serve?.((request, response) => {
    response.writeHead(200, { connection: "keep-alive" }).end(`answered ${request.method} ${request.url}`);
  }, "127.0.0.1:3128");
});

afterEach(() => place.close());

describe("requests to the proxy itself", () => {
  it("are answered whatever the policy, one a connection", async () => {
    const request = "POST /path HTTP/1.1\r\nHost: 127.0.0.1:3128\r\nContent-Length: 0\r\n\r\n";

    const answer = await exchange(place.socketPath, request + request);

    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\nconnection: close\r\n/i);
    expect(answer.match(/answered POST \/path/g)).toHaveLength(1);
    expect(await place.session.take()).toEqual({ allowed: [], denied: [] });
  });

  it("are answered for clients that ask a proxy for all addresses", async () => {
    const absolute = "GET http://127.0.0.1:3128/path HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n\r\n";
    expect(await exchange(place.socketPath, absolute)).toContain("answered GET /path");

    const connect = "CONNECT 127.0.0.1:3128 HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n\r\n";
    const request = "GET /tunnel HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n\r\n";
    const answer = await exchange(place.socketPath, connect + request + request);
    expect(answer).toMatch(/^HTTP\/1\.1 200 Connection established\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    expect(answer.match(/answered GET \/tunnel/g)).toHaveLength(1);
    expect(await place.session.take()).toEqual({ allowed: [], denied: [] });
  });

  it.each([
    ["CONNECT 127.0.0.1:3129", "127.0.0.1:3129"],
    ["CONNECT localhost:3128", "localhost:3128"],
    ["GET http://127.0.0.1:3128@other.test/path", "other.test"],
    ["GET http://127.0.0.1:31280/path", "127.0.0.1:31280"],
    ["GET http://other.test/path", "other.test"],
  ])("are not those of %s", async (line, host) => {
    const answer = await exchange(place.socketPath, `${line} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);

    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
  });
});
