import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { createHttpPlace, type HttpPlace } from "./http-place.ts";
import { waitFor } from "../../../../cli/test/helpers/start-budgie.ts";
import { INITIALIZE, TOKEN } from "./start-http-budgie.ts";

const MOST = 150;
const CALL = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "work", _meta: { progressToken: "p" } },
});

/** Makes a call over a connection of its own, which reads only on request. */
async function call(place: HttpPlace, more = "") {
  const begun = await place.send({ method: "POST", body: INITIALIZE });
  const before = place.works.length;
  const socket = connect(Number(place.url.port), "127.0.0.1");
  const session = begun.headers.get("mcp-session-id") ?? "";
  const headers = `Host: localhost\r\nAuthorization: Bearer ${TOKEN}\r\nMcp-Session-Id: ${session}\r\n${more}`;
  const kind = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nConnection: close";
  socket.write(`POST /mcp HTTP/1.1\r\n${headers}${kind}\r\nContent-Length: ${CALL.length}\r\n\r\n${CALL}`, "latin1");
  let last = "";
  let told = 0;
  const read = (): void =>
    void socket.on("data", (piece: Buffer) => {
      const text = last.slice(1 - MARK.length) + piece.toString("latin1");
      told += count(text);
      last = text.slice(-1000);
    });
  return { work: () => waitFor(() => place.works[before]), read, last: () => last, told: () => told, socket };
}

const MARK = '"method":"notifications/progress"';
const count = (text: string): number => text.split(MARK).length - 1;

describe("progress", () => {
  it("is dropped for a client that does not read, and sent to one that does, each with its answer", async () => {
    const place = await createHttpPlace();
    const [stuck, reading] = [await call(place), await call(place)];
    const [one, two] = [await stuck.work(), await reading.work()];
    reading.read();
    // Far more than a connection holds.
    const where = "x".repeat(100_000);

    for (let i = 0; i < MOST; i++) {
      one.progress(where);
      two.progress(where);
      await waitFor(() => reading.told() === i + 1);
    }
    one.finish("The end.");
    two.finish("The end.");
    stuck.read();
    await waitFor(() => stuck.last().includes("The end."));
    await waitFor(() => reading.last().includes("The end."));

    expect(reading.told()).toBe(MOST);
    expect(stuck.told()).toBeGreaterThan(0);
    expect(stuck.told()).toBeLessThan(MOST);
    await waitFor(() => place.deliveries.length === 2);
  });

  it("is not kept for a client whose connection is closed", async () => {
    const place = await createHttpPlace({ limits: { events: 5 } });
    const begun = await place.send({ method: "POST", body: INITIALIZE });
    const headers = {
      "mcp-session-id": begun.headers.get("mcp-session-id") ?? "",
      "mcp-protocol-version": "2025-11-25",
    };
    const cutting = new AbortController();
    const response = await place.send({ method: "POST", headers, body: CALL, signal: cutting.signal });
    const first = await response.body?.getReader().read();
    const lastEventId = /^id: (\S+)$/m.exec(new TextDecoder().decode(first?.value))?.[1] ?? "none";
    const work = await waitFor(() => place.works[0]);
    cutting.abort();
    await new Promise((wake) => setTimeout(wake, 100));

    for (let i = 0; i < 4; i++) work.progress("here");
    work.finish("The end.");
    await new Promise((wake) => setTimeout(wake, 50));
    const resumed = await place.send({ method: "GET", headers: { ...headers, "last-event-id": lastEventId } });
    const text = await resumed.text();

    expect(count(text)).toBe(0);
    expect(text).toContain("The end.");
  });
});

it("an error of a client is reported in one line, escaped for a terminal, and without the token", async () => {
  const place = await createHttpPlace();

  const { read, last, socket } = await call(place, "Mcp-Protocol-Version: 1\u009b2J\u0085budgie: fine\r\n");
  read();
  await waitFor(() => last().includes("HTTP/1.1 400"));
  socket.destroy();

  const [, ...lines] = place.reports;
  expect(lines).toEqual([
    expect.stringMatching(/^Trouble with the client: Bad Request: Unsupported protocol version: 1\?2J/),
  ]);
  expect(lines.join()).not.toMatch(/\p{C}/u);
  expect(lines.join()).not.toContain(TOKEN);
});
