import type { ServerResponse } from "node:http";
import { sendJson, type Script } from "@budgie/testkit";

/** Returns the interfaces of a card, at an address that does not exist. */
export const interfaces = (version: string) => [
  { url: "http://elsewhere.invalid/", protocolBinding: "JSONRPC", protocolVersion: version },
];

export const CARD = { supportedInterfaces: interfaces("1.0"), capabilities: { streaming: true } };
export const OLD_CARD = {
  url: "http://elsewhere.invalid/",
  protocolVersion: "0.3.0",
  capabilities: { streaming: true },
};

/** Serves a card, and answers calls by a function. */
export function withCard(card: unknown, answer: Script): Script {
  return (call, response) => (call.method === undefined ? sendJson(response, card) : answer(call, response));
}

/** Sends an event. Returns false if more would only be buffered. */
export function sendEvent(response: ServerResponse, result: unknown): boolean {
  if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
  return response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result })}\n\n`);
}

/** The cards and messages of both versions, as a server writes them. */
export const WIRES = [
  {
    version: "1.0",
    card: CARD,
    status: (state: string, text?: string) => ({
      statusUpdate: {
        taskId: "t1",
        contextId: "c1",
        status: {
          state: `TASK_STATE_${state.toUpperCase().replaceAll("-", "_")}`,
          ...(text === undefined ? {} : { message: { role: "ROLE_AGENT", parts: [{ text }] } }),
        },
      },
    }),
    artifact: (artifactId: string, text: string) => ({
      artifactUpdate: { taskId: "t1", contextId: "c1", append: true, artifact: { artifactId, parts: [{ text }] } },
    }),
    message: (text: string) => ({ message: { role: "ROLE_AGENT", contextId: "c1", parts: [{ text }] } }),
    get: "GetTask",
  },
  {
    version: "0.3",
    card: OLD_CARD,
    status: (state: string, text?: string) => ({
      kind: "status-update",
      taskId: "t1",
      contextId: "c1",
      status: {
        state,
        ...(text === undefined ? {} : { message: { kind: "message", role: "agent", parts: [{ kind: "text", text }] } }),
      },
    }),
    artifact: (artifactId: string, text: string) => ({
      kind: "artifact-update",
      taskId: "t1",
      contextId: "c1",
      append: true,
      artifact: { artifactId, parts: [{ kind: "text", text }] },
    }),
    message: (text: string) => ({ kind: "message", role: "agent", contextId: "c1", parts: [{ kind: "text", text }] }),
    get: "tasks/get",
  },
] as const;
