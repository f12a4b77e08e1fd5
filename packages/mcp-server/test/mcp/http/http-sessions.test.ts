import { describe, expect, it } from "vitest";
import { createHttpPlace, createWire } from "./http-place.ts";
import { toText, waitFor } from "../../../../cli/test/helpers/start-budgie.ts";
import { INITIALIZE } from "./start-http-budgie.ts";

const LIST = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/list" });
const wait = (ms: number): Promise<void> => new Promise((wake) => setTimeout(wake, ms));

describe("a session", () => {
  it("begins with initialize, and with nothing else", async () => {
    const place = await createHttpPlace({ limits: { sessions: 1 } });
    const probe = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "server/discover", params: {} });

    const refused = await Promise.all([
      place.send({ method: "POST", body: "" }),
      place.send({ method: "POST", body: "null" }),
      place.send({ method: "POST", body: probe }),
      place.send({ method: "POST", body: LIST }),
      place.send({ method: "POST", body: `[${INITIALIZE}]` }),
      place.send({ method: "POST", body: INITIALIZE.replace('"protocolVersion"', '"protocol"') }),
      place.send({ method: "GET" }),
      place.send({ method: "DELETE" }),
    ]);
    const bodies = (await Promise.all(refused.map((answer) => answer.json()))) as object[];
    // The place for one is still free.
    const begun = await place.send({ method: "POST", body: INITIALIZE });

    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 400));
    expect(bodies[2]).toMatchObject({ id: 1, error: { code: -32022, data: { supported: { 0: "2025-11-25" } } } });
    expect(bodies[3]).toMatchObject({ id: null, error: { message: expect.stringContaining("Mcp-Session-Id") } });
    expect(refused.filter(({ headers }) => headers.has("www-authenticate"))).toEqual([]);
    expect(begun.status).toBe(200);
    expect(begun.headers.get("mcp-session-id")).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("does not begin if the initialize itself is refused", async () => {
    const place = await createHttpPlace({ limits: { sessions: 1 } });

    const refused = await place.send({ method: "POST", body: INITIALIZE, headers: { accept: "text/html" } });
    const begun = await place.send({ method: "POST", body: INITIALIZE });

    expect(refused.status).toBe(406);
    expect(begun.status).toBe(200);
  });

  it("that is unknown is answered with 404, so that a client begins a new one", async () => {
    const place = await createHttpPlace();
    const headers = { "mcp-session-id": "00000000-0000-4000-8000-000000000000" };

    const answers = await Promise.all(
      ["POST", "GET", "DELETE"].map((method) =>
        place.send({ method, headers, ...(method === "POST" ? { body: INITIALIZE } : {}) }),
      ),
    );

    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect(await answers[0]?.json()).toMatchObject({ error: { code: -32_001 } });
  });

  it("that its client ends is removed with its calls and resources", async () => {
    const place = await createHttpPlace();
    const { transport, work } = await place.connect();
    const answer = work().catch(String);
    await waitFor(() => place.works[0]);
    const id = transport.sessionId ?? "";
    const before = place.ended();

    await transport.terminateSession();

    await waitFor(() => place.ended() === 1);
    const gone = await place.send({ method: "POST", headers: { "mcp-session-id": id }, body: LIST });
    expect(before).toBe(0);
    expect(place.works[0]?.signal?.aborted).toBe(true);
    expect(gone.status).toBe(404);
    expect(place.deliveries).toEqual([]);
    void answer;
  });

  it("expires when idle, but not while its client listens or waits for an answer", async () => {
    const place = await createHttpPlace({ sessionTtlMs: 500 });
    const listening = await place.connect();
    const idle = await place.send({ method: "POST", body: INITIALIZE });
    const working = await place.send({ method: "POST", body: INITIALIZE });
    const call = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "work" } });
    const cutting = new AbortController();
    await place.send({ method: "POST", headers: toSession(working), body: call, signal: cutting.signal });
    // Its client disconnects, but its call continues.
    cutting.abort();
    await waitFor(() => place.ended() === 1);
    await wait(500);

    const [gone, there] = await Promise.all(
      [idle, working].map((begun) => place.send({ method: "POST", headers: toSession(begun), body: LIST })),
    );
    const { tools } = await listening.client.listTools();

    expect([gone?.status, there?.status]).toEqual([404, 200]);
    expect(place.works[0]?.signal?.aborted).toBe(false);
    expect(tools).toHaveLength(1);
    // The session stays until its answer is delivered.
    place.works[0]?.finish();
    await waitFor(() => place.ended() === 2);
  });

  it("is refused with 503 at the limit, until another ends", async () => {
    const place = await createHttpPlace({ limits: { sessions: 2 } });
    const first = await place.send({ method: "POST", body: INITIALIZE });
    await place.send({ method: "POST", body: INITIALIZE });

    const refused = await place.send({ method: "POST", body: INITIALIZE });
    await place.send({ method: "DELETE", headers: toSession(first) });
    const begun = await place.send({ method: "POST", body: INITIALIZE });

    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: { message: expect.stringMatching(/^There are 2 sessions/) } });
    expect(begun.status).toBe(200);
  });

  it("that has been idle the longest makes room, but none in use does", async () => {
    const place = await createHttpPlace({ limits: { sessions: 3, yieldAfterMs: 0 } });
    const listening = await place.connect();
    const longest = await place.send({ method: "POST", body: INITIALIZE });
    const shorter = await place.send({ method: "POST", body: INITIALIZE });

    const begun = await place.send({ method: "POST", body: INITIALIZE });
    const [gone, there] = await Promise.all(
      [longest, shorter].map((one) => place.send({ method: "POST", headers: toSession(one), body: LIST })),
    );

    expect([begun.status, gone?.status, there?.status]).toEqual([200, 404, 200]);
    expect((await listening.client.listTools()).tools).toHaveLength(1);
  });

  it("has a limit of concurrent calls", async () => {
    const place = await createHttpPlace({ limits: { callsPerSession: 2 } });
    const { transport, work } = await place.connect();
    const answers = [work(), work()];
    await waitFor(() => place.works.length === 2);

    const refused = await place.send({
      method: "POST",
      headers: { "mcp-session-id": transport.sessionId ?? "" },
      body: LIST,
    });
    place.works[0]?.finish();
    await answers[0];
    const answered = work();
    (await waitFor(() => place.works[2])).finish("third");

    expect(refused.status).toBe(429);
    expect(toText(await answered)).toBe("third");
    place.works[1]?.finish();
    await answers[1];
  });

  it("counts all simultaneous calls, and accepts a cancellation at the limit", async () => {
    const place = await createHttpPlace({ limits: { callsPerSession: 2 } });
    const { transport, work } = await place.connect();
    const headers = { "mcp-session-id": transport.sessionId ?? "" };
    const toBatch = (count: number): string =>
      `[${Array.from({ length: count }, (_, index) => LIST.replace("7", `${100 + index}`)).join()}]`;

    const [two, three] = [
      await place.send({ method: "POST", headers, body: toBatch(2) }),
      await place.send({ method: "POST", headers, body: toBatch(3) }),
    ];
    const answers = [work(), work()];
    await waitFor(() => place.works.length === 2);
    const params = { requestId: "none" };
    const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    const cancelled = await place.send({ method: "POST", headers, body });

    expect([two.status, three.status, cancelled.status]).toEqual([200, 429, 202]);
    for (const each of place.works) each.finish();
    await Promise.all(answers);
  });

  it("refuses a second request with the id of a pending one", async () => {
    const place = await createHttpPlace();
    const { transport } = await place.connect();
    const headers = { "mcp-session-id": transport.sessionId ?? "" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 55, method: "tools/call", params: { name: "work" } });
    const first = await place.send({ method: "POST", headers, body });

    const second = await place.send({ method: "POST", headers, body });
    place.works[0]?.finish("first");

    expect(second.status).toBe(400);
    expect(await first.text()).toContain('"text":"first"');
    expect(place.works).toHaveLength(1);
  });
});

describe("a change of the tools", () => {
  it("is reported to every listening client, and to others as soon as they listen", async () => {
    const place = await createHttpPlace();
    const wire = await createWire(place.url);
    const clients = [await place.connect(), await place.connect(), await place.connect(wire.url)];
    const told = clients.map(() => 0);
    for (const [index, { client }] of clients.entries()) {
      client.fallbackNotificationHandler = async ({ method }) => {
        if (method === "notifications/tools/list_changed") told[index] = (told[index] ?? 0) + 1;
      };
    }
    await waitFor(() => wire.sent().includes("GET /mcp"));
    await wait(100);

    // The third client hears nothing until it reconnects.
    wire.cut();
    await wait(20);
    place.notifyToolListChanged();

    await waitFor(() => told.every((count) => count === 1));
    await wait(100);
    expect(told).toEqual([1, 1, 1]);
  });
});

function toSession({ headers }: Response): Readonly<Record<string, string>> {
  return { "mcp-session-id": headers.get("mcp-session-id") ?? "" };
}
