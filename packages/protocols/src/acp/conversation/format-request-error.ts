import type { RequestError } from "@agentclientprotocol/sdk";
import { oneLine } from "../answer/one-line.ts";

const LONGEST_REASON = 1000;

/** Returns the reason of an agent's error: the message, and the detail that most agents put beside it. */
export function formatRequestError({ code, data, message }: RequestError): string {
  const { details, message: inner } = (typeof data === "object" && data !== null ? data : {}) as Record<
    string,
    unknown
  >;
  const detail = [details, inner, data].find((text): text is string => typeof text === "string" && text !== message);
  const text = detail === undefined ? message : `${message}: ${detail}`;
  return `${oneLine(text).slice(0, LONGEST_REASON)}, ${code}`;
}

/** The codes of JSON-RPC and ACP. */
export const CODES = {
  methodNotFound: -32_601,
  resourceNotFound: -32_002,
  invalidParams: -32_602,
  authRequired: -32_000,
} as const;
