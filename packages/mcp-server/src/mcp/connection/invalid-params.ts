import { ErrorCode } from "@modelcontextprotocol/sdk/types.js";

/** The protocol's error for a request that makes no sense; the SDK's own says its code twice. */
export function invalidParams(message: string): Error {
  return Object.assign(new Error(message), { code: ErrorCode.InvalidParams });
}
