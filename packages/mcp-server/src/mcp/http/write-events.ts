import type { ServerResponse } from "node:http";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";

/** The remaining events of a stream. */
export type Replay = {
  readonly sessionId: string;
  readonly events: readonly { readonly id: string; readonly message: JSONRPCMessage }[];
};

/** Writes the remaining events of an ended stream. Without any, sends 204, which tells SSE clients not to reconnect. */
export function writeEvents(response: ServerResponse, { events, sessionId }: Replay): void {
  if (events.length === 0) {
    response.writeHead(204, { "mcp-session-id": sessionId }).end();
    return;
  }
  response.writeHead(200, {
    "content-type": "text/event-stream",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    "mcp-session-id": sessionId,
  });
  response.end(
    events.map(({ id, message }) => `event: message\nid: ${id}\ndata: ${JSON.stringify(message)}\n\n`).join(""),
  );
}
