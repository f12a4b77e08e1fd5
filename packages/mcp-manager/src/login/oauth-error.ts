import { cleanLine } from "../bounds/clean-text.ts";
import { LIMITS } from "../bounds/limits.ts";

/** Errors of OAuth after which the same request may succeed. */
const PASSING: ReadonlySet<string> = new Set(["server_error", "temporarily_unavailable", "too_many_requests"]);

/** Tells whether an authorization server will never grant this. */
export function isRefusal(error: unknown): boolean {
  const code = toCode(error);
  return code !== undefined && !PASSING.has(code);
}

/** Returns the reason why a request without a secret failed, in the authorization server's words too. */
export function toWordyReason(error: unknown): string {
  const reason = toOAuthReason(error);
  const words = toCode(error) === undefined ? "" : cleanLine((error as Error).message, LIMITS.error);
  return words === "" || words.startsWith("HTTP ") ? reason : `${reason}: ${words}`;
}

/** Returns the reason why OAuth failed. It has none of an answer's text, which may repeat a secret of the request. */
export function toOAuthReason(error: unknown): string {
  const { cause, message, name } = error as Error;
  if (name === "ZodError" || error instanceof SyntaxError) return "the authorization server's answer is none of OAuth";
  if (name === "TimeoutError") return "the authorization server does not answer";
  const [, status] = /^HTTP (\d{3})\b/.exec(message) ?? [];
  if (status !== undefined) return `the authorization server answered with the status ${status}`;
  const code = toCode(error);
  if (code !== undefined) return `the authorization server says ${toPlainCode(code)}`;
  const system = (cause as { readonly code?: unknown } | undefined)?.code;
  return typeof system === "string" ? `it cannot be reached (${system})` : cleanLine(message, LIMITS.error);
}

/** Returns an error code of OAuth; a placeholder for what is none. */
export function toPlainCode(code: string): string {
  return /^[\w.-]{1,64}$/.test(code) ? code : "an error that is none of OAuth";
}

function toCode(error: unknown): string | undefined {
  const { errorCode } = error as { readonly errorCode?: unknown };
  return typeof errorCode === "string" ? errorCode : undefined;
}
