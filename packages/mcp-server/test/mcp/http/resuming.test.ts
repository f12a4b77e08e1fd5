import { describe, expect, it } from "vitest";
import { createHttpPlace, createWire, type HttpPlace, type PlaceClient } from "./http-place.ts";
import { toText, waitFor } from "../../../../cli/test/helpers/start-budgie.ts";
import { INITIALIZE } from "./start-http-budgie.ts";

const toCall = (id: number): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "work" } });

/** Makes a call, and returns its open stream and the id of its first event. */
async function begin(place: HttpPlace, { transport }: PlaceClient, id: number) {
  const cutting = new AbortController();
  const headers = { "mcp-session-id": transport.sessionId ?? "", "mcp-protocol-version": "2025-11-25" };
  const before = place.works.length;
  const response = await place.send({ method: "POST", headers, body: toCall(id), signal: cutting.signal });
  const reader = response.body?.getReader();
  const first = await reader?.read();
  const lastEventId = /^id: (\S+)$/m.exec(new TextDecoder().decode(first?.value))?.[1] ?? "none";
  const work = await waitFor(() => place.works[before]);
  const cut = async (): Promise<void> => {
    cutting.abort();
    // Data written before the server notices the cut goes to a connection that looks open.
    await wait(100);
  };
  return { headers, lastEventId, work, cut };
}

const wait = (ms: number): Promise<void> => new Promise((wake) => setTimeout(wake, ms));

describe("a connection that is cut in the middle of a call", () => {
  it("does not cancel the call, and the client reconnects and gets its answer", async () => {
    const place = await createHttpPlace();
    const wire = await createWire(place.url);
    const { work } = await place.connect(wire.url);

    let isResumable = false;
    const answer = work({ onresumptiontoken: () => (isResumable = true) });
    const { finish, signal } = await waitFor(() => place.works[0]);
    await waitFor(() => isResumable);
    wire.cut();
    await waitFor(() => /last-event-id: \d+_[0-9a-f-]{36}/i.test(wire.sent()));
    finish("It survived.");

    expect(toText(await answer)).toBe("It survived.");
    expect(signal?.aborted).toBe(false);
    await waitFor(() => place.deliveries.length > 0);
    expect(place.deliveries).toEqual([{ runId: "run-0", state: "delivered" }]);
  });

  it("replays a later answer only to a request with the last event id", async () => {
    const place = await createHttpPlace();
    const client = await place.connect();
    const { cut, headers, lastEventId, work } = await begin(place, client, 100);
    await cut();
    work.finish("Later.");
    await wait(100);
    const before = [...place.deliveries];

    // The client's own stream is open, so a second is refused: without the event's id there is nothing to resume.
    const plain = await place.send({ method: "GET", headers });
    const resumed = await place.send({ method: "GET", headers: { ...headers, "last-event-id": lastEventId } });
    const text = await resumed.text();

    expect(plain.status).toBe(409);
    expect(before).toEqual([]);
    expect(resumed.status).toBe(200);
    expect(text).toContain('"text":"Later."');
    await waitFor(() => place.deliveries.length > 0);
    expect(place.deliveries).toEqual([{ runId: "run-0", state: "delivered" }]);
  });

  it("ends a resumed stream after its last event, and answers 204 when there is no more", async () => {
    const place = await createHttpPlace();
    const { cut, headers, lastEventId, work } = await begin(place, await place.connect(), 100);
    await cut();
    work.finish();
    await wait(100);

    const resumed = await place.send({ method: "GET", headers: { ...headers, "last-event-id": lastEventId } });
    const last = [...(await resumed.text()).matchAll(/^id: (\S+)$/gm)].at(-1)?.[1] ?? "none";
    const again = await place.send({ method: "GET", headers: { ...headers, "last-event-id": last } });

    expect(last).not.toBe("none");
    expect(again.status).toBe(204);
  });

  it("replaces an answer that was too large to be kept by an error, which is no delivery", async () => {
    const place = await createHttpPlace({ limits: { eventBytes: 5000 } });
    const client = await place.connect();
    const { cut, headers, lastEventId, work } = await begin(place, client, 100);
    await cut();
    work.finish("x".repeat(6000));
    await wait(100);

    const resumed = await place.send({ method: "GET", headers: { ...headers, "last-event-id": lastEventId } });
    const text = await resumed.text();
    await wait(100);

    expect(text).toMatch(
      /"id":100,"error":\{"code":-32050,"message":"This answer was sent while the connection was broken/,
    );
    expect(place.deliveries).toEqual([]);
    // An answer is not too large while its client reads it.
    const whole = client.work();
    (await waitFor(() => place.works[1])).finish("y".repeat(6000));
    expect(toText(await whole)).toHaveLength(6000);
  });

  it.each(["1_no-such-stream", "x", "99999999999_x", "999_$known"])(
    "refuses the event %s, which never existed",
    async (id) => {
      const place = await createHttpPlace();
      const { headers, lastEventId } = await begin(place, await place.connect(), 100);

      const lastEvent = id.replace("$known", lastEventId.split("_")[1] ?? "");
      const refused = await place.send({ method: "GET", headers: { ...headers, "last-event-id": lastEvent } });

      expect(refused.status).toBe(400);
    },
  );

  it("does not replay another session's events", async () => {
    const place = await createHttpPlace();
    const [one, two] = [await place.connect(), await place.connect()];
    const { cut, headers, lastEventId, work } = await begin(place, one, 100);
    await cut();
    work.finish("Secret.");
    await wait(100);

    const others = { ...headers, "mcp-session-id": two.transport.sessionId ?? "", "last-event-id": lastEventId };
    const refused = await place.send({ method: "GET", headers: others });
    const right = await place.send({ method: "GET", headers: { ...headers, "last-event-id": lastEventId } });

    expect(refused.status).toBe(400);
    expect(await refused.text()).not.toContain("Secret");
    expect(await right.text()).toContain("Secret");
  });
});

it("a listening client resumes from its last event, even if its old connection still looks open", async () => {
  const place = await createHttpPlace();
  const begun = await place.send({ method: "POST", body: INITIALIZE });
  const headers = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
  const old = await place.send({ method: "GET", headers });
  const reader = old.body?.getReader();
  place.notifyToolListChanged();
  const first = new TextDecoder().decode((await reader?.read())?.value);
  const lastEventId = /^id: (\S+)$/m.exec(first)?.[1] ?? "none";
  place.notifyToolListChanged();

  const again = await place.send({ method: "GET", headers: { ...headers, "last-event-id": lastEventId } });
  const missed = new TextDecoder().decode((await again.body?.getReader().read())?.value);

  expect(lastEventId).toMatch(/^\d+__GET_stream$/);
  expect(missed).toContain('"method":"notifications/tools/list_changed"');
  expect(missed).not.toContain(`id: ${lastEventId}\n`);
});

describe("a call that its client cancels", () => {
  it("is aborted, and its stream ends for good", async () => {
    const place = await createHttpPlace({ sessionTtlMs: 300 });
    const client = await place.connect();
    const { headers, lastEventId, work } = await begin(place, client, 100);

    const params = { requestId: 100, reason: "enough" };
    const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    await place.send({ method: "POST", headers, body });
    await waitFor(() => work.signal?.aborted);
    const again = await place.send({ method: "GET", headers: { ...headers, "last-event-id": lastEventId } });

    expect(again.status).toBe(204);
    expect(place.deliveries).toEqual([]);
  });

  it("together with others keeps their stream open until their answers are sent, and no longer", async () => {
    const place = await createHttpPlace();
    const { transport } = await place.connect();
    const headers = { "mcp-session-id": transport.sessionId ?? "" };
    const calls = [1, 2].map((id) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "work" } }));
    const answers = place.send({ method: "POST", headers, body: JSON.stringify(calls) }).then((all) => all.text());
    await waitFor(() => place.works[1]);

    const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
    await place.send({ method: "POST", headers, body });
    await waitFor(() => place.works[0]?.signal?.aborted);
    place.works[1]?.finish("the second");

    expect((await answers).match(/"id":\d+/g)).toEqual(['"id":2']);
    await waitFor(() => place.deliveries.length === 1);
  });

  it("by the official client leaves no connection open", async () => {
    const place = await createHttpPlace();
    const wire = await createWire(place.url);
    const { work } = await place.connect(wire.url);
    const cancelling = new AbortController();
    const answer = work({ signal: cancelling.signal });
    await waitFor(() => place.works[0]);

    cancelling.abort();
    await expect(answer).rejects.toThrow();
    await waitFor(() => place.works[0]?.signal?.aborted);

    // The client reconnects once for a stream that ended without an answer, and is told to stop.
    await waitFor(() => /last-event-id/i.test(wire.sent()));
    await wait(300);
    expect(wire.sent().match(/last-event-id/gi)).toHaveLength(1);
  });
});

describe("an answer", () => {
  it("that is an error leaves no connection open either", async () => {
    const place = await createHttpPlace();
    const wire = await createWire(place.url);
    const { client } = await place.connect(wire.url);

    await expect(client.callTool({ name: "unknown" })).rejects.toThrow(/There is no tool "unknown"/);

    await waitFor(() => /last-event-id/i.test(wire.sent()));
    await wait(300);
    expect(wire.sent().match(/last-event-id/gi)).toHaveLength(1);
  });

  it("that crosses with its cancellation counts as dropped", async () => {
    const place = await createHttpPlace();
    const client = await place.connect();
    const { headers, work } = await begin(place, client, 100);
    work.finish();
    await waitFor(() => place.deliveries.length > 0);

    const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 100 } });
    await place.send({ method: "POST", headers, body });

    await waitFor(() => place.deliveries.length > 1);
    expect(place.deliveries.map(({ state }) => state)).toEqual(["delivered", "dropped"]);
  });
});
