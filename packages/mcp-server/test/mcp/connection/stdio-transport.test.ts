import { PassThrough, Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createStdioTransport } from "../../../src/mcp/connection/stdio-transport.ts";

type Wrote = (error?: Error) => void;

/** Creates a transport whose stdout accepts data when the test says so. */
function create() {
  const writes: Wrote[] = [];
  const stdin = new PassThrough();
  const stdout = new Writable({ write: (_chunk, _encoding, wrote: Wrote) => void writes.push(wrote) });
  stdout.on("error", () => undefined);
  const deliveries: string[] = [];
  const transport = createStdioTransport({ stdin, stdout });
  const answer = (id: number): Promise<void> => transport.send({ jsonrpc: "2.0", id, result: {} });
  const cancel = async (id: number): Promise<void> => {
    const params = { requestId: id, reason: "too slow" };
    stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params })}\n`);
    await setImmediate();
  };
  const follow = (id: number): void => transport.follow(id, (state) => void deliveries.push(`${id} ${state}`));
  return { answer, cancel, follow, stdin, deliveries, transport, writes };
}

describe("a response", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
  afterEach(() => void vi.useRealTimers());

  it("is delivered once all of it was written, and not earlier", async () => {
    const { answer, follow, deliveries, writes } = create();
    follow(1);

    const sending = answer(1);
    const before = [...deliveries];
    writes[0]?.();
    await sending;

    expect(before).toEqual([]);
    expect(deliveries).toEqual(["1 delivered"]);
  });

  it("is not delivered if it could not be written, or belongs to another request", async () => {
    const { answer, follow, deliveries, writes } = create();
    follow(1);

    const sending = [answer(2), answer(1)];
    writes[0]?.();
    await setImmediate();
    writes[1]?.(new Error("EPIPE"));
    await Promise.all(sending);

    expect(deliveries).toEqual([]);
  });

  it("is dropped if its cancellation arrives after it, once", async () => {
    const { answer, cancel, follow, deliveries, transport, writes } = create();
    await transport.start();
    follow(1);
    const sending = answer(1);
    writes[0]?.();
    await sending;

    for (const id of [1, 1, 2]) await cancel(id);

    expect(deliveries).toEqual(["1 delivered", "1 dropped"]);
  });

  it("is delivered if its cancellation arrives 200 ms after it, as from opencode", async () => {
    const { answer, cancel, follow, deliveries, transport, writes } = create();
    await transport.start();
    follow(1);
    const sending = answer(1);
    writes[0]?.();
    await sending;

    vi.advanceTimersByTime(200);
    await cancel(1);

    expect(deliveries).toEqual(["1 delivered"]);
  });

  it("is dropped if its cancellation arrives while it is written", async () => {
    const { answer, cancel, follow, deliveries, transport, writes } = create();
    await transport.start();
    follow(1);
    const sending = answer(1);

    await cancel(1);
    writes[0]?.();
    await sending;

    expect(deliveries).toEqual(["1 dropped"]);
  });

  it("is tracked for a limited time", async () => {
    const { cancel, follow, deliveries, transport } = create();
    await transport.start();

    for (let id = 1; id <= 101; id++) follow(id);
    await cancel(1);
    await cancel(2);

    expect(deliveries).toEqual(["2 dropped"]);
  });
});

it("an endless message is not kept, and ends the connection", async () => {
  const { stdin, transport } = create();
  let isClosed = false;
  transport.onclose = () => void (isClosed = true);
  await transport.start();

  for (let mebibytes = 0; mebibytes < 11 && !isClosed; mebibytes++) {
    stdin.write("x".repeat(1024 ** 2));
    await setImmediate();
  }

  expect(isClosed).toBe(true);
});

it("a message of too many values is not parsed, and the next one is", async () => {
  const { stdin, transport } = create();
  const heard: unknown[] = [];
  transport.onerror = ({ message }) => void heard.push(message);
  transport.onmessage = (message) => void heard.push(message);
  await transport.start();
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };

  stdin.write(`{"jsonrpc":"2.0","id":0,"method":"ping","params":{"x":[${"{},".repeat(10_000)}{}]}}\n`);
  stdin.write(`${JSON.stringify(ping)}\r\n`);
  await setImmediate();

  expect(heard).toEqual(["a message of more than 10000 values is ignored", ping]);
});
