import type { ServerResponse } from "node:http";

/** Answers with JSON. */
export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}
