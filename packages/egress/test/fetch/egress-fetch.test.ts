import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import type { ConnectorOptions } from "../../src/fetch/connector.ts";
import { createEgressFetch } from "../../src/fetch/egress-fetch.ts";
import { createOrigin, toPolicy, watch, type Origin } from "../helpers/proxy-place.ts";

const origins: Origin[] = [];
afterEach(async () => {
  for (const origin of origins.splice(0)) await origin.close();
});

async function serve(listener: RequestListener): Promise<Origin> {
  const origin = await watch(createServer(listener), "connection");
  origins.push(origin);
  return origin;
}

const hello = (): Promise<Origin> => serve((_, response) => void response.end("hello"));

/** Creates a `fetch` whose names all resolve to one address. */
function toFetch(options: Partial<ConnectorOptions>, address = "127.0.0.1") {
  const asked: string[] = [];
  const lookup = async (host: string) => {
    asked.push(host);
    return [{ address, family: 4 }];
  };
  const fetch = createEgressFetch({ policy: toPolicy("allowlist"), urls: [], loopback: false, lookup, ...options });
  return { asked, fetch };
}

describe("the hosts that it reaches", () => {
  it("are those of the URLs that it is given, with their ports alone", async () => {
    const [origin, other] = [await hello(), await hello()];
    const { asked, fetch } = toFetch({ urls: [`http://127.0.0.1:${origin.port}/mcp`] });

    expect(await (await fetch(`http://127.0.0.1:${origin.port}/`)).text()).toBe("hello");
    await expect(fetch(`http://127.0.0.1:${other.port}/`)).rejects.toThrow("an address that nothing names");
    await expect(fetch(`http://localhost:${origin.port}/`)).rejects.toThrow("not on the allow-list");
    expect([asked, other.connections()]).toEqual([[], 0]);
  });

  it("have localhost for both of its addresses, without a name server", async () => {
    const origin = await hello();
    const { asked, fetch } = toFetch({ urls: [`http://localhost:${origin.port}/`] });

    expect((await fetch(`http://localhost:${origin.port}/`)).status).toBe(200);
    expect(asked).toEqual([]);
  });

  it.each(["127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "168.63.129.16"])(
    "have no name that resolves to %s",
    async (address) => {
      const origin = await hello();
      const url = `http://inside.test:${origin.port}/`;
      const { asked, fetch } = toFetch({ urls: [url] }, address);

      await expect(fetch(url)).rejects.toThrow("resolves to no public address, and is not pinned");
      expect([asked, origin.connections()]).toEqual([["inside.test"], 0]);
    },
  );

  it("have a private address for a name that is pinned to it", async () => {
    const origin = await hello();
    const url = `http://inside.test:${origin.port}/`;
    const policy = toPolicy("allowlist", `inside.test:${origin.port}=127.0.0.1`);
    const { asked, fetch } = toFetch({ policy, urls: [url] }, "10.0.0.1");

    expect(await (await fetch(url)).text()).toBe("hello");
    expect(asked).toEqual([]);
  });

  it.each(["10.0.0.1", "127.0.0.1", "[::1]", "2130706433", "localhost"])(
    "do not have %s for an open policy alone",
    async (host) => {
      const origin = await hello();
      const { fetch } = toFetch({ policy: toPolicy("open") });

      await expect(fetch(`http://${host}:${origin.port}/`)).rejects.toThrow("may not be reached");
      expect(origin.connections()).toBe(0);
    },
  );

  it("have every port of this machine if that is asked for, and no other address", async () => {
    const origin = await hello();
    const { fetch } = toFetch({ policy: toPolicy("open"), loopback: true });

    expect(await (await fetch(`http://127.0.0.1:${origin.port}/`)).text()).toBe("hello");
    await expect(fetch("https://10.0.0.1/")).rejects.toThrow("an address that nothing names");
  });

  it("are reached through the proxy that this machine must use, which resolves their names", async () => {
    const origin = await hello();
    const authorities: string[] = [];
    const proxy = createServer().on("connect", ({ url = "" }, client: Socket) => {
      authorities.push(url);
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      client.pipe(connect(origin.port, "127.0.0.1")).pipe(client);
    });
    const { port } = await watch(proxy, "connection").then((watched) => (origins.push(watched), watched));
    const url = "http://far.test:8080/";
    const { fetch } = toFetch({ urls: [url], upstream: { url: `http://127.0.0.1:${port}` } }, "203.0.113.1");

    expect(await (await fetch(url)).text()).toBe("hello");
    expect(authorities).toEqual(["far.test:8080"]);
  });
});

describe("a request", () => {
  it("has the method, headers and body that it was given", async () => {
    const origin = await serve(({ headers, method }, response) => {
      response.setHeader("set-cookie", ["a=1", "b=2"]);
      void text(response.req).then((body) => {
        response.end(JSON.stringify([method, headers["content-type"], headers["x-key"], body]));
      });
    });
    const url = `http://127.0.0.1:${origin.port}/`;
    const { fetch } = toFetch({ urls: [url] });
    const body = new URLSearchParams({ a: "b c" });
    const response = await fetch(url, { method: "POST", body, headers: { "X-Key": "k" } });

    expect(await response.json()).toEqual(["POST", "application/x-www-form-urlencoded;charset=UTF-8", "k", "a=b+c"]);
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(response.url).toBe(url);
  });

  it("is not sent to the place that a redirect names", async () => {
    const other = await hello();
    const origin = await serve((_, response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${other.port}/` }).end();
    });
    const url = `http://127.0.0.1:${origin.port}/`;
    const { fetch } = toFetch({ urls: [url, `http://127.0.0.1:${other.port}/`] });

    expect((await fetch(url)).status).toBe(307);
    expect(other.connections()).toBe(0);
  });

  it.each([204, 304])("may be answered by %i, without a body", async (status) => {
    const origin = await serve((_, response) => void response.writeHead(status).end());
    const url = `http://127.0.0.1:${origin.port}/`;
    const response = await toFetch({ urls: [url] }).fetch(url);

    expect([response.status, response.body]).toEqual([status, null]);
  });

  it("fails with the words of fetch if nothing listens", async () => {
    const origin = await createOrigin();
    await origin.close();
    const url = `http://127.0.0.1:${origin.port}/`;

    await expect(toFetch({ urls: [url] }).fetch(url)).rejects.toMatchObject({
      name: "TypeError",
      cause: { code: "ECONNREFUSED" },
    });
  });

  it("reuses a connection, unless its server has ended it", async () => {
    const server = createServer({ keepAliveTimeout: 0 }, (_, response) => void response.end("hello"));
    let latest: Socket | undefined;
    server.on("connection", (socket: Socket) => void (latest = socket));
    const origin = await watch(server, "connection");
    origins.push(origin);
    const other = await hello();
    const [url, elsewhere] = [`http://127.0.0.1:${origin.port}/`, `http://127.0.0.1:${other.port}/`];
    const { fetch } = toFetch({ urls: [url, elsewhere] });
    for (const _ of [1, 2]) await (await fetch(url)).text();
    const before = origin.connections();
    latest?.end();
    // By the time of this answer, the server's end has been noticed.
    await (await fetch(elsewhere)).text();

    expect(await (await fetch(url)).text()).toBe("hello");
    expect([before, origin.connections()]).toEqual([1, 2]);
  });

  it("rejects with the reason of its signal, before an answer and in the midst of one", async () => {
    let isAsked = false;
    const origin = await serve((request, response) => {
      isAsked = true;
      if (request.url === "/slow") response.writeHead(200).write("a");
    });
    const url = `http://127.0.0.1:${origin.port}/`;
    const { fetch } = toFetch({ urls: [url] });
    const [first, second] = [new AbortController(), new AbortController()];
    const silent = expect(fetch(url, { signal: first.signal })).rejects.toThrow("enough");
    await expect.poll(() => isAsked).toBe(true);
    first.abort(new Error("enough"));
    const slow = await fetch(`${url}slow`, { signal: second.signal });
    second.abort(new Error("enough too"));

    await silent;
    await expect(slow.text()).rejects.toThrow("enough too");
  });

  it("is read no faster than its reader reads, and ends when that stops", async () => {
    let written = 0;
    let isOver: Promise<unknown> = Promise.resolve();
    const origin = await serve((request, response) => {
      if (request.url !== "/") return void response.end();
      isOver = once(response, "close");
      const more = (): void => {
        written += 65_536;
        if (!response.destroyed && written < 2 ** 28) response.write("x".repeat(65_536), more);
      };
      more();
    });
    const url = `http://127.0.0.1:${origin.port}/`;
    const { fetch } = toFetch({ urls: [url] });
    const response = await fetch(url);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    // Takes long enough to send all of it.
    for (let asked = 0; asked < 100; asked += 1) await (await fetch(`${url}other`)).text();
    await reader.cancel();
    await isOver;

    expect(written).toBeLessThan(2 ** 26);
  });
});
