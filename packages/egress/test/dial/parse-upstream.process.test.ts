import { createServer, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseUpstream } from "../../src/dial/parse-upstream.ts";
import { createCertificate } from "../helpers/certificate.ts";
import {
  createOrigin,
  createProxyPlace,
  exchange,
  openTunnel,
  toPolicy,
  watch,
  type Origin,
} from "../helpers/proxy-place.ts";

const certificate = createCertificate();
const PASSWORD = "p%40ss:w%C3%B6rd";
const AUTHORIZATION = `Basic ${Buffer.from("user:p@ss:wörd").toString("base64")}`;

let origin: Origin;
let plainOrigin: Origin;
let upstream: Origin;
let seen: { readonly line: string; readonly authorization: string | undefined }[];
let status: number;

// A corporate proxy that resolves all hosts to one server.
beforeEach(async () => {
  origin = await watch(
    createTlsServer(certificate, (socket) => socket.end("hello")),
    "connection",
  );
  plainOrigin = await createOrigin(
    (socket) => void socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\n\r\nplain")),
  );
  seen = [];
  status = 200;
  upstream = await watch(createUpstream(), "connection");
});

afterEach(async () => {
  await Promise.all([origin, plainOrigin, upstream].map(({ close }) => close()));
});

function createUpstream(): Server {
  const server = createServer((request, response) => {
    seen.push({ line: `${request.method} ${request.url}`, authorization: request.headers["proxy-authorization"] });
    const isForProxy = request.headers["max-forwards"] === "0" || request.method === "TRACE";
    response.end(isForProxy ? request.rawHeaders.join("\r\n") : "from the proxy");
  });
  return server.on("connect", (request, client: Socket) => {
    seen.push({ line: `CONNECT ${request.url}`, authorization: request.headers["proxy-authorization"] });
    if (status !== 200) return client.end(`HTTP/1.1 ${status} No\r\nProxy-Authenticate: Basic\r\n\r\n`);
    const server = connect(origin.port, "127.0.0.1");
    client.write("HTTP/1.1 200 OK\r\n\r\n");
    return client
      .pipe(server)
      .on("error", () => {})
      .pipe(client);
  });
}

const createPlace = (hosts: readonly string[], noProxy = "") =>
  createProxyPlace(toPolicy("allowlist", ...hosts), {
    upstream: { url: `http://user:${PASSWORD}@127.0.0.1:${upstream.port}`, noProxy },
  });

async function fetchTls(socketPath: string, authority: string): Promise<string> {
  const { head, socket } = await openTunnel(socketPath, authority);
  if (!head.startsWith("HTTP/1.1 200")) return head;
  const servername = authority.replace(/:\d+$/, "");
  return text(connectTls({ socket, servername, rejectUnauthorized: false })).catch((error: Error) => error.message);
}

describe("an upstream proxy", () => {
  it("is asked for a tunnel to the name, with its credentials", async () => {
    const place = await createPlace(["allowed.test"]);

    expect(await fetchTls(place.socketPath, "allowed.test:443")).toBe("hello");
    expect(seen).toEqual([{ line: "CONNECT allowed.test:443", authorization: AUTHORIZATION }]);
    await place.close();
  });

  it("gets no request that policy refuses", async () => {
    const place = await createPlace(["allowed.test"]);

    expect(await fetchTls(place.socketPath, "evil.test:443")).toMatch(/^HTTP\/1\.1 403 /);
    expect(seen).toEqual([]);
    await place.close();
  });

  it("gets plain HTTP as a request for a proxy", async () => {
    const place = await createPlace(["allowed.test:80"]);
    const request = "GET http://allowed.test/path HTTP/1.1\r\nHost: allowed.test\r\nProxy-Authorization: mine\r\n\r\n";

    expect(await exchange(place.socketPath, request)).toMatch(/^HTTP\/1\.1 200 OK.*from the proxy/s);
    expect(seen).toEqual([{ line: "GET http://allowed.test/path", authorization: AUTHORIZATION }]);
    await place.close();
  });

  it.each([
    ["TRACE", /^HTTP\/1\.1 400 .*the method TRACE, which is not passed on/s],
    ["PROPFIND", /^HTTP\/1\.1 400 .*the method PROPFIND, which is not passed on/s],
    ["OPTIONS", /^HTTP\/1\.1 200 OK.*from the proxy/s],
  ])("is never made to echo its credentials, by %s", async (method, answer) => {
    const place = await createPlace(["allowed.test:80"]);
    const request = `${method} http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nMax-Forwards: 0\r\n\r\n`;

    const said = await exchange(place.socketPath, request);

    expect(said).toMatch(answer);
    expect(said).not.toContain(AUTHORIZATION);
    await place.close();
  });

  it("is not used for pinned hosts and those of NO_PROXY", async () => {
    const place = await createPlace([`pinned.test:${origin.port}=127.0.0.1`, "skipped.test"], "skipped.test");

    expect(await fetchTls(place.socketPath, `pinned.test:${origin.port}`)).toBe("hello");
    expect(await fetchTls(place.socketPath, "skipped.test:443")).toMatch(/^HTTP\/1\.1 502 .*could not be resolved/s);
    expect(seen).toEqual([]);
    await place.close();
  });

  it.each([407, 403, 502])("that answers %i ends the tunnel, and its credentials appear nowhere", async (code) => {
    status = code;
    const place = await createPlace(["allowed.test"]);
    const answer = await fetchTls(place.socketPath, "allowed.test:443");
    await place.session.setPolicy(toPolicy("open"));
    const head = await fetchTls(place.socketPath, "allowed.test:443");

    expect(answer).toMatch(/alert internal error/);
    expect(head).toMatch(/^HTTP\/1\.1 502 .*could not be reached/s);
    expect(`${head}${JSON.stringify(await place.session.take())}`).not.toMatch(/p@ss|user|dXNlcj/);
    await place.close();
  });

  it("is rejected if its certificate is not trusted", async () => {
    const server = await watch(
      createHttpsServer(certificate).on("connect", (_request, socket) => socket.end("HTTP/1.1 200 OK\r\n\r\n")),
      "connection",
    );
    const place = await createProxyPlace(toPolicy("open"), { upstream: { url: `https://127.0.0.1:${server.port}` } });

    expect(await fetchTls(place.socketPath, "allowed.test:443")).toMatch(/^HTTP\/1\.1 502 .*CERT/s);
    await place.close();
    await server.close();
  });
});

describe("parseUpstream", () => {
  const skips = (noProxy: string, host: string, port = 443) =>
    parseUpstream({ url: "http://p", noProxy }).skips(host, port);

  it.each([
    ["example.com", "example.com"],
    ["example.com", "a.example.com"],
    [".example.com", "a.example.com"],
    ["*.example.com", "a.example.com"],
    ["a.test, EXAMPLE.com", "example.com"],
    ["a.test b.test", "b.test"],
    ["*", "any.test"],
    ["example.com:443", "example.com"],
  ])("with NO_PROXY %s leaves it out for %s", (noProxy, host) => {
    expect(skips(noProxy, host)).toBe(true);
  });

  it.each([
    ["", "example.com"],
    ["example.com", "notexample.com"],
    ["example.com", "example.com.evil.test"],
    ["example.com:80", "example.com"],
    ["10.0.0.0/8", "example.com"],
  ])("with NO_PROXY %j needs it for %s", (noProxy, host) => {
    expect(skips(noProxy, host)).toBe(false);
  });

  it("accepts both schemes' default ports, IPv6, and passwords that were never encoded", () => {
    expect(parseUpstream({ url: "http://proxy.test" })).toMatchObject({
      secure: false,
      port: 80,
      authorization: undefined,
    });
    expect(parseUpstream({ url: "https://proxy.test" })).toMatchObject({ secure: true, port: 443 });
    expect(parseUpstream({ url: "http://[::1]:3128" })).toMatchObject({ host: "::1", port: 3128 });
    expect(parseUpstream({ url: "http://u:50%@p.test" }).authorization).toBe(
      `Basic ${Buffer.from("u:50%").toString("base64")}`,
    );
  });

  it.each(["socks5://user:secret@p.test:1080", "user:secret@p.test", ""])("refuses %j without repeating it", (url) => {
    expect(() => parseUpstream({ url })).toThrow(/HTTPS_PROXY/);
    expect(() => parseUpstream({ url })).not.toThrow(/secret/);
  });
});
