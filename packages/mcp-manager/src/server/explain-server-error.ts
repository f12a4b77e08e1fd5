import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { SseError } from "@modelcontextprotocol/sdk/client/sse.js";
import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js";
import { BudgieError } from "@budgie/core";
import { cleanLine } from "../bounds/clean-text.ts";
import { LIMITS } from "../bounds/limits.ts";

/** Returns the reason why a server failed, as a short text. */
export function explainServerError(error: unknown): string {
  if (error instanceof BudgieError) return error.message;
  if (error instanceof McpError) return explainProtocol(error);
  if (error instanceof StreamableHTTPError) return `it answered with the status ${error.code ?? "unknown"}`;
  if (error instanceof SseError) return `it answered with the status ${error.code ?? "unknown"}`;
  const { cause, message, name } = error as Error;
  const code = (cause as { readonly code?: unknown } | undefined)?.code;
  if (name === "ZodError") return "its answer is not valid MCP";
  return typeof code === "string" ? `it cannot be reached (${code})` : cleanLine(message, LIMITS.error);
}

function explainProtocol({ code, message }: McpError): string {
  if (code === (ErrorCode.RequestTimeout as number)) return "it does not answer";
  if (code === (ErrorCode.ConnectionClosed as number)) return "it closed the connection";
  return cleanLine(message.replace(/^MCP error -?\d+: /, ""), LIMITS.error);
}

/** Tells whether an error asks for a login. */
export function wantsLogin(error: unknown): boolean {
  if (error instanceof UnauthorizedError) return true;
  return (error instanceof StreamableHTTPError || error instanceof SseError) && error.code === 401;
}

/** Translates the failure of a request to a server that was ready. */
export function requestError(server: string, what: string, error: unknown): BudgieError {
  if (error instanceof BudgieError) return error;
  const options = { cause: error };
  if (wantsLogin(error)) return loginError(server, options);
  const about = `The MCP server "${server}" did not answer ${what}`;
  if (!(error instanceof McpError))
    return new BudgieError("RUNNER_UNAVAILABLE", `${about}: ${explainServerError(error)}.`, options);
  if (error.code === (ErrorCode.RequestTimeout as number)) {
    const { maxTotalTimeout } = Object(error.data) as { readonly maxTotalTimeout?: unknown };
    const when = maxTotalTimeout === undefined ? "in time" : 'within an hour, nor within a longer "timeout"';
    const hint = 'Set a longer "timeout" in its entry, or check the server.';
    return new BudgieError("TIMED_OUT", `${about} ${when}. ${hint}`, options);
  }
  if (error.code === (ErrorCode.ConnectionClosed as number)) {
    return new BudgieError("RUNNER_UNAVAILABLE", `${about}: it ended. It may have done part of the work.`, options);
  }
  return new BudgieError(
    "INPUT_INVALID",
    `The MCP server "${server}" refused ${what}: ${explainServerError(error)}`,
    options,
  );
}

/** Returns the error for a server that requires a login. */
export function loginError(server: string, options?: ErrorOptions): BudgieError {
  const message = `The MCP server "${server}" wants a login: run "budgie mcp login ${server}".`;
  return new BudgieError("LOGIN_REQUIRED", message, options);
}
