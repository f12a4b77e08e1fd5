import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { RequestId } from "@modelcontextprotocol/sdk/types.js";

/** The state of a response: written completely, or cancelled by a client that had not received it. */
export type DeliveryState = "delivered" | "dropped";

/** An MCP transport to one client that also reports the delivery of responses. */
export type ClientTransport = Transport & {
  /** Calls `tell` once the response to a request was delivered or dropped; never if it could not be written. */
  readonly follow: (request: RequestId, tell: (state: DeliveryState) => void) => void;
  /** `true` if a notification about a request would only be buffered, because the client does not read. */
  readonly isFull: (request: RequestId) => boolean;
};
