import { describe, expect, it, vi } from "vitest";
import { LIMITS } from "../../src/bounds/limits.ts";
import { serveEndpoint } from "../helpers/serve-endpoint.ts";

const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const wait = { name: "wait", does: { kind: "wait" as const, ms: 60_000 } };

async function introduce(url: string): Promise<string> {
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  const response = await fetch(url, { method: "POST", headers: HEADERS, body });
  await response.text();
  return response.headers.get("mcp-session-id") ?? "";
}

/** Begins a session, and returns a function that posts to it. */
async function begin(url: string): Promise<(body: string) => Promise<Response>> {
  const headers = { ...HEADERS, "mcp-session-id": await introduce(url) };
  return (body) => fetch(url, { method: "POST", headers, body });
}

function toCall(id: number, given: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "wait", arguments: { given } } });
}

describe("an agent in a sandbox", () => {
  it("gets no message parsed that has too many values or levels", async () => {
    await using served = await serveEndpoint({ one: { tools: [wait] } });
    const post = await begin(served.toUrl("one"));
    const many = Array.from({ length: 10_000 }, () => ({}));
    const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params: { capabilities: many.slice(0, 1000) } };

    const refused = await Promise.all([
      post(toCall(1, many)),
      post(`${"[".repeat(501)}${"]".repeat(501)}`),
      post(JSON.stringify(initialize)),
      post("{"),
    ]);

    expect(refused.map(({ status }) => status)).toEqual([413, 413, 413, 400]);
    expect(await refused[0]?.json()).toMatchObject({
      error: { message: "A request must not have more than 10000 values." },
    });
    expect(await refused[1]?.json()).toMatchObject({
      error: { message: "A request must not have more than 500 levels." },
    });
    expect(await refused[2]?.json()).toMatchObject({
      error: { message: "A request must not have more than 1000 values." },
    });
  });

  it("that hangs up cancels its call, whose arguments would stay in memory", async () => {
    await using served = await serveEndpoint({ one: { tools: [wait] } });
    const post = await begin(served.toUrl("one"));
    const pending = await post(toCall(1, "x"));

    await pending.body?.cancel();

    await vi.waitUntil(() => served.calls.some(({ outcome }) => outcome === "CANCELLED"), 20_000);
  });

  it("has at most 8 MiB of pending requests, and more when some have their answers", async () => {
    // A server that is slow to read its input gets only 4 MiB of it.
    await using served = await serveEndpoint({ one: { tools: [wait] }, two: { tools: [wait] } });
    const [one, two] = await Promise.all(["one", "two"].map(async (name) => begin(served.toUrl(name))));
    const size = LIMITS.pendingBytes / 4;
    const post = (id: number) => (id % 2 === 0 ? one : two)?.(toCall(id, "x".repeat(size - 1000)));
    const pending = await Promise.all([1, 2, 3, 4].map(post));

    const refused = await post(5);
    await pending[0]?.body?.cancel();

    expect(pending.map((response) => response?.status)).toEqual([200, 200, 200, 200]);
    expect(refused?.status).toBe(503);
    expect(await refused?.json()).toMatchObject({ error: { message: expect.stringContaining("too large together") } });
    await vi.waitUntil(async () => (await post(6))?.status === 200, 10_000);
  });
});
