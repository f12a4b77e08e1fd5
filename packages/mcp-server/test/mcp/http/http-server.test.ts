import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { toText, waitFor } from "../../../../cli/test/helpers/start-budgie.ts";
import { createHttpPlace, type HttpPlace } from "./http-place.ts";
import { INITIALIZE, TOKEN } from "./start-http-budgie.ts";

const toRequest = (host: string, more = ""): string =>
  `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Length: 0\r\n${more}\r\n`;
const BEARER = `Authorization: Bearer ${TOKEN}\r\n`;

describe("the token", () => {
  it.each([
    ["missing", {}],
    ["another", { authorization: `Bearer ${TOKEN.slice(0, -1)}X` }],
    ["a part of it", { authorization: `Bearer ${TOKEN.slice(0, -1)}` }],
    ["longer", { authorization: `Bearer ${TOKEN}x` }],
    ["empty", { authorization: "Bearer " }],
    ["of another scheme", { authorization: `Basic ${TOKEN}` }],
    ["in the query only", { path: `/mcp?token=${TOKEN}&access_token=${TOKEN}` }],
  ])("that is %s gets 401 with a challenge, and nothing else", async (_, { authorization, path = "/mcp" }: Given) => {
    const place = await createHttpPlace();

    const answers = await Promise.all(
      ["POST", "GET", "DELETE", "PUT"].map((method) => place.send({ method, path, headers: { authorization } })),
    );

    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    for (const answer of answers) {
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
      expect(await answer.text()).not.toContain(TOKEN.slice(0, 10));
    }
    expect(place.reports.join()).not.toContain(TOKEN.slice(0, 10));
  });

  it.each(["Bearer", "bearer", "BEARER "])("is accepted with %j before it", async (scheme) => {
    const place = await createHttpPlace();

    const answer = await place.send({
      method: "POST",
      body: INITIALIZE,
      headers: { authorization: `${scheme} ${TOKEN}` },
    });

    expect(answer.status).toBe(200);
  });

  it("that is right never gets a 401, a 403 or a challenge, for any request", async () => {
    const place = await createHttpPlace();
    const methods = ["POST", "GET", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"];

    const answers = await Promise.all(methods.map((method) => place.send({ method })));

    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 405, 405, 405, 405]);
    expect(answers.filter(({ headers }) => headers.has("www-authenticate"))).toEqual([]);
    expect(answers[3]?.headers.get("allow")).toBe("GET, POST, DELETE");
  });
});

type Given = { readonly authorization?: string; readonly path?: string };

describe("/healthz", () => {
  it("reports without a token that budgie runs, and nothing else", async () => {
    const place = await createHttpPlace();
    const ask = (method: string) => place.send({ method, path: "/healthz", headers: { authorization: undefined } });

    const [got, head, posted] = await Promise.all([ask("GET"), ask("HEAD"), ask("POST")]);

    expect(got.status).toBe(200);
    expect(await got.json()).toEqual({ status: "ok", version: "1.2.3" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  it.each(["/", "/healthz/", "/mcp/", "/mcp/x", "//mcp", "/sse", "/%6dcp"])(
    "is not at %s, nor is anything else",
    async (path) => {
      const place = await createHttpPlace();

      const answer = await fetch(`${place.url.origin}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } });

      expect(answer.status).toBe(404);
      expect(await answer.json()).toMatchObject({ error: { message: expect.any(String) } });
    },
  );
});

describe("a request", () => {
  it("may be as large as the limit, and gets a readable 413 beyond it", async () => {
    const place = await createHttpPlace();
    const fill = (bytes: number): string => INITIALIZE.padEnd(bytes);
    const most = 4 * 1024 ** 2;

    const largest = await place.send({ method: "POST", body: fill(most) });
    const larger = await place.send({ method: "POST", body: fill(most + 1) });
    const streamed = await place.send({ method: "POST", body: new Blob([fill(3 * most)]).stream() });

    expect(largest.status).toBe(200);
    for (const refused of [larger, streamed]) {
      expect(refused.status).toBe(413);
      expect(await refused.json()).toMatchObject({ error: { message: expect.stringContaining("4194304 bytes") } });
    }
  });

  it("that arrives too slowly is dropped, before its headers and after them", async () => {
    const place = await createHttpPlace({ limits: { headersMs: 300, requestMs: 600 } });
    const slow = (start: string): Socket => {
      const socket = connect(Number(place.url.port), "127.0.0.1");
      socket.write(start);
      return socket;
    };
    const drips = [
      slow("POST /mcp HTTP/1.1\r\nHost: localhost\r\n"),
      slow(toRequest("localhost", BEARER).replace("Length: 0", "Length: 9")),
    ];

    const answers = await Promise.all(drips.map((socket) => text(socket)));

    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1.1 408 /);
    expect(place.reports.filter((line) => !line.startsWith("Listening"))).toEqual([]);
  });

  it("that breaks off in its body does no harm", async () => {
    const place = await createHttpPlace();
    const socket = connect(Number(place.url.port), "127.0.0.1");
    socket.write(toRequest("localhost", BEARER).replace("Length: 0", "Length: 9"));
    await new Promise((wake) => setTimeout(wake, 100));
    socket.resetAndDestroy();
    await new Promise((wake) => setTimeout(wake, 100));

    expect((await place.send({ method: "POST", body: INITIALIZE })).status).toBe(200);
    expect(place.reports).toHaveLength(1);
  });
});

describe("connections", () => {
  const open = async ({ url }: HttpPlace, start = ""): Promise<Socket> => {
    const socket = connect(Number(url.port), "127.0.0.1").on("error", () => undefined);
    await once(socket, "connect");
    socket.write(start);
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  const toSent = (host: string, more = ""): string => toRequest(host, more).replace("Connection: close\r\n", "");

  it("without the token never lock out those with it, in any number, nor cut running calls", async () => {
    const place = await createHttpPlace();
    const early = await place.connect();
    const answer = early.work();
    while (place.works.length === 0) await new Promise((wake) => setTimeout(wake, 10));

    for (const start of ["", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n", toSent("localhost")]) {
      await Promise.all(Array.from({ length: 600 }, () => open(place, start)));
    }
    const late = await place.connect();
    const { tools } = await late.client.listTools();
    place.works[0]?.finish();

    expect(tools).toHaveLength(1);
    expect((await answer).content).toEqual([{ type: "text", text: "done" }]);
  });

  it("are limited in number, and the oldest without the token makes room", async () => {
    const place = await createHttpPlace({ limits: { connections: 4, unauthenticated: 3 } });
    const known = await Promise.all([1, 2].map(() => open(place, toSent("localhost", BEARER))));
    await Promise.all(known.map((socket) => once(socket, "data")));
    const unauthenticated = [await open(place), await open(place)];

    const another = await open(place);
    await once(unauthenticated[0] as Socket, "close");

    const isOpen = (socket: Socket): boolean => !socket.destroyed;
    expect([...known, ...unauthenticated, another].map(isOpen)).toEqual([true, true, false, true, true]);
  });

  it("make room when they close, those with the token too", async () => {
    const place = await createHttpPlace({ limits: { connections: 2, unauthenticated: 2 } });
    for (let round = 0; round < 3; round++) {
      const socket = await open(place, toSent("localhost", BEARER));
      const [answer] = (await once(socket, "data")) as [Buffer];
      expect(String(answer)).toMatch(/^HTTP\/1\.1 [24]/);
      socket.destroy();
      await once(socket, "close");
    }
  });
});

describe("a server that closes", () => {
  it("accepts no new connections, and cuts open ones once all calls have ended and are answered", async () => {
    const place = await createHttpPlace();
    const { work } = await place.connect();
    const answer = work();
    await waitFor(() => place.works[0]);

    await place.close();

    expect(place.ended()).toBe(1);
    expect(place.works[0]?.signal?.aborted).toBe(true);
    await expect(fetch(place.url)).rejects.toThrow("fetch failed");
    expect(toText(await answer)).toBe("aborted");
    expect(place.deliveries).toEqual([{ runId: "run-0", state: "delivered" }]);
  });

  it("lets a client that reads have the rest of its answer", async () => {
    const place = await createHttpPlace();
    const { transport } = await place.connect();
    const headers = { "mcp-session-id": transport.sessionId ?? "" };
    const call = { jsonrpc: "2.0", id: 100, method: "tools/call", params: { name: "work" } };
    const reading = (await place.send({ method: "POST", headers, body: JSON.stringify(call) })).text();
    (await waitFor(() => place.works[0])).finish("x".repeat(16 * 1024 ** 2));

    await place.close();

    expect((await reading).length).toBeGreaterThan(16 * 1024 ** 2);
  });

  it("does not wait for a client that does not read", async () => {
    const place = await createHttpPlace();
    const { transport } = await place.connect();
    const headers = { "mcp-session-id": transport.sessionId ?? "" };
    const call = { jsonrpc: "2.0", id: 100, method: "tools/call", params: { name: "work" } };
    const unread = await place.send({ method: "POST", headers, body: JSON.stringify(call) });
    (await waitFor(() => place.works[0])).finish("x".repeat(16 * 1024 ** 2));

    await place.close();

    expect(place.ended()).toBe(1);
    expect(place.deliveries).toEqual([]);
    await expect(unread.text()).rejects.toThrow("terminated");
  });
});
