import { cleanLine } from "../bounds/clean-text.ts";
import { LIMITS } from "../bounds/limits.ts";

/** OAuth error codes after which the same request may succeed. */
const PASSING: ReadonlySet<string> = new Set(["server_error", "temporarily_unavailable", "too_many_requests"]);

/** Tells whether an error is the authorization server's final refusal. */
export function isRefusal(error: unknown): boolean {
  const code = codeOf(error);
  return code !== undefined && !PASSING.has(code);
}

/** Returns the reason why a request without a secret failed, with the authorization server's own message. */
export function explainInDetail(error: unknown): string {
  const reason = explainOauth(error);
  const words = codeOf(error) === undefined ? "" : cleanLine((error as Error).message, LIMITS.error);
  return words === "" || words.startsWith("HTTP ") ? reason : `${reason}: ${words}`;
}

/** Returns the reason why OAuth failed, without the response's text, which may repeat a secret of the request. */
export function explainOauth(error: unknown): string {
  const { cause, message, name } = error as Error;
  if (name === "ZodError" || error instanceof SyntaxError)
    return "the authorization server's answer is not valid OAuth";
  if (name === "TimeoutError") return "the authorization server does not answer";
  const [, status] = /^HTTP (\d{3})\b/.exec(message) ?? [];
  if (status !== undefined) return `the authorization server answered with the status ${status}`;
  const code = codeOf(error);
  if (code !== undefined) return `the authorization server says ${plainCode(code)}`;
  const system = (cause as { readonly code?: unknown } | undefined)?.code;
  return typeof system === "string" ? `it cannot be reached (${system})` : cleanLine(message, LIMITS.error);
}

/** Returns an OAuth error code; a placeholder if it is not one. */
export function plainCode(code: string): string {
  return /^[\w.-]{1,64}$/.test(code) ? code : "an unknown OAuth error";
}

function codeOf(error: unknown): string | undefined {
  const { errorCode } = error as { readonly errorCode?: unknown };
  return typeof errorCode === "string" ? errorCode : undefined;
}
