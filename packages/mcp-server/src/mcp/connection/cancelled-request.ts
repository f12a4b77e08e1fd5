import { CancelledNotificationSchema, type JSONRPCMessage, type RequestId } from "@modelcontextprotocol/sdk/types.js";

/** The request that a message cancels; `undefined` of any other message. */
export function toCancelledRequest(message: JSONRPCMessage): RequestId | undefined {
  return CancelledNotificationSchema.safeParse(message).data?.params.requestId;
}
