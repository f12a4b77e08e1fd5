import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Reply } from "@budgie/core";
import { REQUEST_BOUNDS } from "@budgie/core/bounds";
import { toReplyResult } from "../../../src/mcp/calls/to-reply-result.ts";
import { HTTP_LIMITS } from "../../../src/mcp/http/http-limits.ts";
import { waitFor } from "../../../../cli/test/helpers/start-budgie.ts";
import { createHttpPlace } from "./http-place.ts";
import { INITIALIZE } from "./start-http-budgie.ts";

const DOCUMENT = readFileSync(new URL("../../../../../docs/http.md", import.meta.url), "utf8");

it("HTTP_LIMITS are the limits in docs/http.md", () => {
  const { bodyBytes, callsPerSession, connections, eventBytes, events, headersMs, requestMs, sessions, yieldAfterMs } =
    HTTP_LIMITS;
  const { allPendingBytes, pendingBytes } = HTTP_LIMITS;

  for (const row of [
    `| sessions at once | ${sessions} | the one that was idle for longest ends, if for at least ${yieldAfterMs / 1000} s; else 503`,
    `| requests of a session that wait for their answer | ${callsPerSession} |`,
    `| a request | ${bodyBytes / 1024 ** 2} MiB, ${REQUEST_BOUNDS.values.toLocaleString("en-US")} values of JSON |`,
    `that wait for their answer | ${pendingBytes / 1024 ** 2} MiB and ${allPendingBytes / 1024 ** 2} MiB |`,
    `| a request's headers, and all of it | ${headersMs / 1000} s and ${requestMs / 1000} s |`,
    `| connections | ${connections} |`,
    `| ${events.toLocaleString("en-US")} events, ${eventBytes / 1024 ** 2} MiB |`,
  ]) {
    expect(DOCUMENT).toContain(row);
  }
});

it.each([
  { own: 200_000, others: 200_000, fits: true },
  { own: 500_000, others: 0, fits: true },
  { own: 530_000, others: 0, fits: false },
])(
  "An answer of $own bytes, with $others of missed ones, fits into a message of 1 MiB: $fits",
  ({ fits, others, own }) => {
    const nothing = { denied: [], changedExecutablePaths: [], warnings: [], exit: {} };
    const missed = others === 0 ? [] : [{ runId: "m", response: "x".repeat(others), when: "earlier" }];
    const result = toReplyResult({ ...nothing, response: "x".repeat(own), missed } as unknown as Reply);

    expect(Buffer.byteLength(JSON.stringify({ jsonrpc: "2.0", id: 1, result })) < 2 ** 20).toBe(fits);
    expect(DOCUMENT).toMatch(
      /a message over 1 MiB, such as one with an\s+answer above 500 kB: with `maxAnswerBytes` above 200,000/,
    );
  },
);

const toCall = (id: number, meta: unknown): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "work", _meta: { meta } } });

async function begin(limits = {}) {
  const place = await createHttpPlace({ limits });
  const begun = await place.send({ method: "POST", body: INITIALIZE });
  const headers = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
  return { place, post: (body: string) => place.send({ method: "POST", headers, body }) };
}

describe("a caller over HTTP", () => {
  it("gets no message parsed that has too many values, in a session or for one", async () => {
    const { place, post } = await begin();
    const many = Array.from({ length: 10_000 }, () => ({}));
    const wrong = INITIALIZE.replace('"clientInfo":{', `"clientInfo":{"icons":${JSON.stringify(many.slice(0, 500))},`);

    const refused = [await post(toCall(1, many)), await place.send({ method: "POST", body: wrong })];

    expect(wrong).not.toBe(INITIALIZE);
    expect(refused.map(({ status }) => status)).toEqual([413, 413]);
    expect(await refused[0]?.json()).toMatchObject({ error: { message: expect.stringContaining("10000 values") } });
    expect(await refused[1]?.json()).toMatchObject({ error: { message: expect.stringContaining("1000 values") } });
  });

  it("has a limit on the bytes of requests that wait for their answer, also without a connection", async () => {
    const { place, post } = await begin({ pendingBytes: 10_000 });
    const large = "x".repeat(4000);
    const first = await post(toCall(1, large));
    await post(toCall(2, large));
    await waitFor(() => place.works.length === 2);
    await first.body?.cancel();

    const refused = await post(toCall(3, large));
    place.works[0]?.finish();
    await waitFor(async () => (await post(toCall(4, large))).status === 200);

    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ error: { message: expect.stringContaining("Wait for an answer") } });
  });

  it("has its bytes back when its session ends, and shares a limit with all others", async () => {
    const { place, post } = await begin({ pendingBytes: 10_000, allPendingBytes: 12_000 });
    const other = await place.send({ method: "POST", body: INITIALIZE });
    const headers = { "mcp-session-id": other.headers.get("mcp-session-id") ?? "" };
    const large = "x".repeat(7000);
    await place.send({ method: "POST", headers, body: toCall(1, large) });

    const refused = await post(toCall(1, large));
    await place.send({ method: "DELETE", headers });
    const taken = await post(toCall(2, large));

    expect([refused.status, taken.status]).toEqual([429, 200]);
  });
});
