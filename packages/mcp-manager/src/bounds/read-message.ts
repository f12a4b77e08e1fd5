import { isRecord } from "@budgie/core/bounds";
import { LIMITS } from "./limits.ts";
import { cleanLine } from "./clean-text.ts";

/** The parts of a server's message that budgie reads; it drops all others. */
export type ServerMessage =
  | { readonly kind: "result"; readonly id: number | string; readonly result: Readonly<Record<string, unknown>> }
  | { readonly kind: "error"; readonly id: number | string; readonly error: { code: number; message: string } }
  | { readonly kind: "request"; readonly id: number | string; readonly method: string }
  | { readonly kind: "notification"; readonly method: string; readonly params: Readonly<Record<string, unknown>> };

/** Reads one message of a server; `undefined` if it is not valid JSON-RPC. */
export function readMessage(value: unknown): ServerMessage | undefined {
  if (!isRecord(value)) return undefined;
  const { error, id, method, params, result } = value;
  if (typeof method === "string") {
    if (method.length > LIMITS.name) return undefined;
    if (isId(id)) return { kind: "request", id, method };
    return { kind: "notification", method, params: isRecord(params) ? params : {} };
  }
  if (!isId(id)) return undefined;
  if (isRecord(result)) return { kind: "result", id, result };
  return isRecord(error) ? { kind: "error", id, error: toError(error) } : undefined;
}

function toError({ code, message }: Readonly<Record<string, unknown>>): { code: number; message: string } {
  return {
    code: Number.isSafeInteger(code) ? (code as number) : -32_603,
    message: cleanLine(typeof message === "string" ? message : "it gave no reason", LIMITS.error),
  };
}

function isId(id: unknown): id is number | string {
  return typeof id === "number" || (typeof id === "string" && id.length <= LIMITS.name);
}
