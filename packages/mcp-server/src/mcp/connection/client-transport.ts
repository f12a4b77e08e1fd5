import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { RequestId } from "@modelcontextprotocol/sdk/types.js";

/** What became of a response: written, all of it, or cancelled by a client that had not seen it yet. */
export type DeliveryState = "delivered" | "dropped";

/** The way to one client, which also tells what becomes of what is sent. */
export type ClientTransport = Transport & {
  /** Follows the response to a request that is about to be sent; nothing is told of one that could not be written. */
  readonly follow: (request: RequestId, tell: (state: DeliveryState) => void) => void;
  /** Whether what is sent now about a request would only wait in memory for a client that does not read. */
  readonly isFull: (request: RequestId) => boolean;
};
