import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { createHttpPlace, type HttpPlace } from "./http-place.ts";
import { INITIALIZE, TOKEN } from "./start-http-budgie.ts";

/** Sends raw bytes, and returns the whole answer. */
async function say({ url }: HttpPlace, request: string): Promise<string> {
  const socket = connect(Number(url.port), "127.0.0.1");
  socket.write(request);
  return text(socket);
}

const toRequest = (host: string, more = ""): string =>
  `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Length: 0\r\n${more}\r\n`;
const BEARER = `Authorization: Bearer ${TOKEN}\r\n`;

describe("the Host header", () => {
  const own = ["localhost", "LOCALHOST:3333", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:3333", "budgie.test:8080"];

  it.each(own)("may be %s", async (host) => {
    const place = await createHttpPlace({ allowedHosts: ["Budgie.test"] });

    expect(await say(place, toRequest(host, BEARER))).toMatch(/^HTTP\/1.1 400 /);
  });

  it.each([
    "evil.example",
    "localhost.evil.example",
    "evil.example:3333",
    "127.0.0.1.evil.example",
    "127.0.0.2",
    "localhost@evil.example",
    "localhost.",
    "[::1].evil",
    "",
  ])("must not be %j", async (host) => {
    const place = await createHttpPlace({ allowedHosts: ["budgie.test"] });

    expect(await say(place, toRequest(host, BEARER))).toMatch(/^HTTP\/1.1 403 .*\r\n\r\n.*--http-allowed-host/s);
    expect(await say(place, toRequest(host).replace("POST /mcp", "GET /healthz"))).toMatch(/^HTTP\/1.1 403 /);
  });

  it("is required, and replaced by the host of an absolute request target", async () => {
    const place = await createHttpPlace();
    const absolute = toRequest("127.0.0.1", BEARER).replace("/mcp", "http://evil.example/mcp");

    expect(await say(place, `POST /mcp HTTP/1.0\r\n${BEARER}\r\n`)).toMatch(/^HTTP\/1.1 403 /);
    expect(await say(place, absolute)).toMatch(/^HTTP\/1.1 404 /);
  });
});

describe("the Origin header", () => {
  it("may be the server's own, and no other of the same machine", async () => {
    const place = await createHttpPlace();
    const ask = (origin: string) => place.send({ method: "POST", body: INITIALIZE, headers: { origin } });

    const origins = [place.url.origin, "http://localhost:3000", "http://127.0.0.1:1", "https://evil.example", "null"];
    const answers = await Promise.all(origins.map(ask));

    expect(answers.map(({ status }) => status)).toEqual([200, 403, 403, 403, 403]);
    expect(answers.flatMap(({ headers }) => [...headers.keys()].filter((name) => name.includes("allow-")))).toEqual([]);
  });

  it("that is allowed gets CORS headers, without the token for the preflight only", async () => {
    const origin = "https://app.example";
    const place = await createHttpPlace({ allowedOrigins: ["https://App.example:443"] });
    const asking = { origin, authorization: undefined, "access-control-request-method": "POST" };

    const preflight = await place.send({ method: "OPTIONS", headers: asking });
    const others = await place.send({ method: "OPTIONS", headers: { ...asking, origin: "https://evil.example" } });
    const begun = await place.send({ method: "POST", body: INITIALIZE, headers: { origin } });
    const refused = await place.send({
      method: "POST",
      body: INITIALIZE,
      headers: { origin, authorization: undefined },
    });

    expect([preflight, others, begun, refused].map(({ status }) => status)).toEqual([204, 403, 200, 401]);
    expect(preflight.headers.get("access-control-allow-headers")).toContain("Authorization");
    expect(preflight.headers.get("access-control-allow-methods")).toBe("GET, POST, DELETE");
    for (const { headers } of [preflight, begun, refused]) {
      expect(headers.get("access-control-allow-origin")).toBe(origin);
      expect(headers.get("vary")).toBe("Origin");
    }
    expect(begun.headers.get("access-control-expose-headers")).toBe("Mcp-Session-Id");
    expect(others.headers.get("access-control-allow-origin")).toBeNull();
  });
});
