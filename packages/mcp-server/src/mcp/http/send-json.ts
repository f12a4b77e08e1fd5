import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { RequestId } from "@modelcontextprotocol/sdk/types.js";

/** An error response to an HTTP request. */
export type Refusal = {
  readonly status: number;
  readonly message: string;
  readonly headers?: OutgoingHttpHeaders;
  /** The JSON-RPC error code; default a generic one */
  readonly code?: number;
  readonly data?: unknown;
  /** The id of the refused JSON-RPC request; default unknown */
  readonly id?: RequestId;
};

/** Sends an error as a JSON-RPC response, which MCP clients can read. */
export function refuse(response: ServerResponse, refusal: Refusal): void {
  const { code = -32_000, data, headers = {}, id = null, message, status } = refusal;
  sendJson(response, { status, headers, body: { jsonrpc: "2.0", error: { code, message, data }, id } });
}

type JsonAnswer = {
  readonly status: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly body: unknown;
};

export function sendJson(response: ServerResponse, { body, headers = {}, status }: JsonAnswer): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    ...headers,
  });
  response.end(text);
}
