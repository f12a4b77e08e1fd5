import { describe, expect, it } from "vitest";
import { createPipedRequests } from "../../../src/mcp/connection/piped-requests.ts";

const request = (id: number, method = "tools/call") => ({ jsonrpc: "2.0", id, method }) as const;
const answer = (id: number) => ({ jsonrpc: "2.0", id, result: {} }) as const;
const cancel = (requestId: number) => {
  return { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } } as const;
};

function create() {
  const requests = createPipedRequests();
  const isAnswered = async (): Promise<boolean> => {
    const now = new Promise<boolean>((resolve) => setImmediate(resolve, false));
    return Promise.race([requests.answered().then(() => true), now]);
  };
  return { ...requests, isAnswered };
}

describe("calls that come before the answer to initialize", () => {
  it("are waited for, whatever the order of their answers", async () => {
    const { isAnswered, received, written } = create();
    for (const message of [request(1, "initialize"), request(2), request(3, "tools/list")]) received(message);
    written(answer(1));
    written(answer(3));

    const before = await isAnswered();
    written(answer(2));

    expect([before, await isAnswered()]).toEqual([false, true]);
  });

  it("are waited for with those that follow", async () => {
    const { isAnswered, received, written } = create();
    for (const message of [request(1, "initialize"), request(2)]) received(message);
    for (const id of [1, 2]) written(answer(id));
    received(request(3));

    expect(await isAnswered()).toBe(false);
  });

  it("are not waited for once they are cancelled", async () => {
    const { isAnswered, received, written } = create();
    for (const message of [request(1, "initialize"), request(2), cancel(2)]) received(message);
    written(answer(1));

    expect(await isAnswered()).toBe(true);
  });
});

it.each(["ping", "tools/list", "server/discover"])(
  "calls after that answer are cancelled at the end of stdin, also of a client that sends %s early",
  async (method) => {
    const { isAnswered, received, written } = create();
    for (const message of [request(5, method), request(1, "initialize"), request(6, method)]) received(message);
    written(answer(1));
    received(request(2));

    expect(await isAnswered()).toBe(true);
  },
);
