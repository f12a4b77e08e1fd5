import { createServer, request } from "node:http";
import { serveOnLoopback } from "@budgie/testkit";
import { expect, it, onTestFinished, vi } from "vitest";
import { createAnswers } from "../../src/endpoint/answers.ts";
import { createMcpEndpoint } from "../../src/endpoint/mcp-endpoint.ts";

const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const LARGE = { content: [{ type: "text", text: "x".repeat(4_000_000) }], isError: false };

it("An agent that leaves answers unread gets no more of them, so that they do not pile up", async () => {
  const outcomes: string[] = [];
  const never = (): Promise<never> => new Promise(() => undefined);
  const endpoint = createMcpEndpoint({
    manager: { tools: never, request: never, call: async () => LARGE },
    servers: ["one"],
    version: "1",
    onCall: ({ outcome }) => void outcomes.push(outcome),
  });
  await using place = await serveOnLoopback(createServer(endpoint.answer));
  const url = `http://127.0.0.1:${place.port}${endpoint.pathOf("one")}`;
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } };
  const initialize = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  const begun = await fetch(url, { method: "POST", headers: HEADERS, body: initialize });
  const headers = { ...HEADERS, "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
  await begun.text();

  for (let id = 1; id <= 20; id += 1) {
    // Nobody reads the response.
    const asked = request(url, { method: "POST", headers, agent: false });
    asked.on("error", () => undefined).on("response", (response) => response.pause());
    onTestFinished(() => void asked.destroy());
    asked.end(JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "x" } }));
    await vi.waitUntil(() => outcomes.length === id);
  }

  expect(outcomes[0]).toBe("done");
  expect(outcomes.at(-1)).toBe("RUNNER_UNAVAILABLE");
  await endpoint[Symbol.asyncDispose]();
});

it("Progress is told to no agent that leaves answers unread", async () => {
  const told: unknown[] = [];
  let isFull = false;
  const never = (): Promise<never> => new Promise(() => undefined);
  const answer = createAnswers("one", {
    isFull: () => isFull,
    manager: {
      tools: never,
      request: never,
      async call(_server, _call, { onProgress }) {
        onProgress?.({ progress: 1 });
        isFull = true;
        onProgress?.({ progress: 2 });
        isFull = false;
        onProgress?.({ progress: 3 });
        return { content: [], isError: false };
      },
    },
  });
  const params = { name: "x", _meta: { progressToken: 7 } };
  const sendNotification = async ({ params: sent }: { readonly params: { readonly progress: number } }) =>
    void told.push(sent.progress);
  const extra = { signal: new AbortController().signal, sendNotification };

  await answer({ jsonrpc: "2.0", id: 1, method: "tools/call", params }, extra as never);

  expect(told).toEqual([1, 3]);
});
